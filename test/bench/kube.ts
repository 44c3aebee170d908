/**
 * Figures of the Kubernetes client runtime, with bare equivalents in the same run:
 *   node --expose-gc test/bench/kube.ts
 * The server is a process of its own. Watch decoding (events per second, through HTTP and a Unix socket into the cache), listing 10,000 objects, and
 * the memory that 10,000 cached objects of about 1.9 KB take beyond the bare process. Prints one JSON object.
 */
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { KubeObject } from '#api/meta.ts';
import { systemClock } from '#kit/clock.ts';
import { createLineDecoder } from '#kit/line-decoder.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { createCache } from '#kube/cache.ts';
import { createClient } from '#kube/client.ts';
import { unixEndpoint } from '#kube/endpoint.ts';
import { createInformer } from '#kube/informer.ts';

const objects = 10_000;
const events = 100_000;

function agent(index: number, version: number): object {
  const name = `agent-${index}`;
  const fields = Object.fromEntries(['image', 'command', 'env', 'role'].map((field) => [`f:${field}`, {}]));
  const managed = (manager: string) => ({
    manager,
    operation: 'Apply',
    apiVersion: 'ploinky.dev/v1alpha1',
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:spec': fields },
  });
  const condition = (type: string) => ({
    type,
    status: 'True',
    observedGeneration: 1,
    lastTransitionTime: '2026-01-01T00:00:00Z',
    reason: 'AsExpected',
    message: `The agent ${name} is as it should be.`,
  });
  return {
    apiVersion: 'ploinky.dev/v1alpha1',
    kind: 'Agent',
    metadata: {
      name,
      namespace: `team-${index % 20}`,
      uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      resourceVersion: String(version),
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: {
        'app.kubernetes.io/name': name,
        'app.kubernetes.io/part-of': 'bench',
        tier: String(index % 5),
      },
      managedFields: [managed('ploinky'), managed('kubectl')],
    },
    spec: {
      runtime: { class: 'Bwrap' },
      env: [{ name: 'INDEX', value: String(index) }],
      mcp: { maxParallelTasks: 10 },
    },
    status: {
      observedGeneration: 1,
      conditions: ['Accepted', 'Ready', 'Progressing', 'Degraded', 'Halted'].map(condition),
    },
  };
}

const eventLine = (i: number) =>
  `${JSON.stringify({ type: 'MODIFIED', object: agent(i % objects, objects + i + 1) })}\n`;

/** 100 events each. */
function makeChunks(): Buffer[] {
  return Array.from({ length: events / 100 }, (_, chunk) =>
    Buffer.from(Array.from({ length: 100 }, (_, i) => eventLine(chunk * 100 + i)).join('')),
  );
}

function makePages(): Buffer[] {
  return Array.from({ length: objects / 500 }, (_, page) => {
    const items = Array.from({ length: 500 }, (_, i) => agent(page * 500 + i, page * 500 + i + 1));
    const next = (page + 1) * 500 < objects ? { continue: String(page + 1) } : {};
    return Buffer.from(
      JSON.stringify({ kind: 'List', metadata: { resourceVersion: String(objects), ...next }, items }),
    );
  });
}

/** The server's work is done beforehand: pages and events are ready bytes. Sends the events when told `go`. */
async function serve(socket: string): Promise<void> {
  const pages = makePages();
  const chunks = makeChunks();
  const watching = Promise.withResolvers<ServerResponse>();
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://x').searchParams;
    if (query.has('watch')) {
      response.flushHeaders();
      watching.resolve(response);
    } else response.end(pages[Number(query.get('continue') ?? 0)]);
  });
  server.listen(socket, () => process.send?.('ready'));
  process.on('disconnect', () => process.exit(0));
  process.on('message', async () => {
    const response = await watching.promise;
    for (const chunk of chunks) {
      if (!response.write(chunk)) await new Promise<void>((resolve) => response.once('drain', resolve));
    }
  });
}

function collect(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const mebibytes = (bytes: number) => +(bytes / 1_048_576).toFixed(1);

async function measureInformer(socket: string, go: () => void): Promise<object> {
  const before = collect();
  const rssBefore = process.memoryUsage().rss;
  const client = createClient({ endpoint: unixEndpoint(socket), clock: systemClock });
  const informer = createInformer<KubeObject>({
    client,
    resource: {
      group: 'ploinky.dev',
      version: 'v1alpha1',
      kind: 'Agent',
      plural: 'agents',
      namespaced: true,
    },
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
  });
  let seen = 0;
  const done = Promise.withResolvers<void>();
  informer.cache.subscribe(() => {
    seen += 1;
    if (seen === objects + events) done.resolve();
  });
  const listBegun = performance.now();
  informer.start();
  await informer.synced;
  const listMs = performance.now() - listBegun;
  const cachedBytes = collect() - before;
  const rssAfter = process.memoryUsage().rss;
  const watchBegun = performance.now();
  const cpuBefore = process.cpuUsage();
  go();
  await done.promise;
  const watchSeconds = (performance.now() - watchBegun) / 1000;
  const cpu = process.cpuUsage(cpuBefore);
  const heapAfterWatch = collect() - before;
  const rssAfterWatch = process.memoryUsage().rss;
  await informer.stop();
  await client.close();
  return {
    list10kMs: Math.round(listMs),
    heapMiB: { listed: mebibytes(cachedBytes), watched: mebibytes(heapAfterWatch) },
    heapBytesPerObject: Math.round(cachedBytes / objects),
    rssMiB: { bare: mebibytes(rssBefore), listed: mebibytes(rssAfter), watched: mebibytes(rssAfterWatch) },
    watchEventsPerSecond: Math.round(events / watchSeconds),
    watchCpuMicrosPerEvent: +((cpu.user + cpu.system) / events).toFixed(1),
  };
}

function measureDecoding(): object {
  const chunks = makeChunks();
  const lines = chunks.flatMap((chunk) => chunk.toString().split('\n').slice(0, -1));
  const rate = (run: () => void) => {
    const begun = performance.now();
    run();
    return Math.round(events / ((performance.now() - begun) / 1000));
  };
  const jsonParseEventsPerSecond = rate(() => {
    for (const line of lines) JSON.parse(line);
  });
  // As a socket gives them: 64 KiB at a time, cut anywhere.
  const bytes = Buffer.concat(chunks);
  const through = (use: (line: string) => void) => () => {
    const decoder = createLineDecoder(16_777_216);
    for (let at = 0; at < bytes.length; at += 65_536) {
      decoder.push(bytes.subarray(at, at + 65_536)).forEach(use);
    }
  };
  const decoderEventsPerSecond = rate(through((line) => void JSON.parse(line)));
  const cache = createCache<KubeObject>();
  const cacheEventsPerSecond = rate(through((line) => cache.upsert(JSON.parse(line).object)));
  return { decoderEventsPerSecond, cacheEventsPerSecond, jsonParseEventsPerSecond };
}

async function run(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-kube-'));
  const socket = join(folder, 'api.sock');
  const server = fork(fileURLToPath(import.meta.url), ['serve', socket]);
  await new Promise((resolve) => server.once('message', resolve));
  const informer = await measureInformer(socket, () => server.send('go'));
  server.disconnect();
  rmSync(folder, { recursive: true });
  const jsonBytesPerObject = Math.round(JSON.stringify(agent(0, 1)).length);
  console.log(JSON.stringify({ objects, jsonBytesPerObject, ...informer, ...measureDecoding() }, null, 2));
}

const [role, socket] = process.argv.slice(2);
await (role === 'serve' && socket !== undefined ? serve(socket) : run());
