import { request } from 'node:http';
import { createInterface } from 'node:readline';
import { Worker } from 'node:worker_threads';
import type { TaskLine } from '#wire/task-line.ts';
import { pass } from './failpoints.ts';
import { runSpawnerOn } from './run-spawner.ts';

/*
 * A whole agent-server, and in the same process whoever orders of it by HTTP, as the controller does. It obeys and says
 * what queue-program.ts does; what a failed task wrote is read from its log.
 */
const [mode = '', generation = ''] = process.argv.slice(2);
if (mode === 'spawner') await runSpawnerOn(generation);
else await serve(mode);

async function serve(folder: string): Promise<void> {
  const { startAgentServer } = await import('#agent-server/server.ts');
  const { systemClock } = await import('#kit/clock.ts');
  const { systemRandom } = await import('#kit/random.ts');
  const { silentLog } = await import('#kit/log.ts');
  const { MARKS = '', BOOT = '', TOOL = '', PARALLEL = '' } = process.env;
  const schema = { type: 'object', properties: { line: { type: 'string' } }, required: ['line'] };
  const tool = (name: string, retries: number) => ({
    ...{ name, description: name, command: '/bin/sh', args: [TOOL], inputSchema: schema, retries },
  });
  const server = await startAgentServer({
    config: {
      version: 1,
      agent: { namespace: 'default', name: 'demo', uid: 'u', instance: 'i', principal: 'agent:default/demo' },
      keys: [{ kid: 'test', secret: Buffer.alloc(32, 7).toString('base64url') }],
      env: { PATH: '/usr/bin:/bin', MARKS, BOOT, SERVER: String(process.pid) },
      paths: { code: folder, workspace: folder },
      forwards: [],
      limits: { maxParallelTasks: Number(PARALLEL), maxQueuedCalls: 1_000_000, maxFinishedTasks: 1_000_000 },
      mcp: { tools: [tool('tool', 100), tool('once', 0)] },
    },
    listen: { type: 'tcp', host: '127.0.0.1', port: 0 },
    withoutTokens: true,
    spawnerCommand: [process.execPath, '--max-semi-space-size=1', process.argv[1] ?? '', 'spawner'],
    startQueueThread: async (workerData) =>
      new Worker(process.env['DURABILITY_THREAD'] ?? '', { workerData }),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
  });
  await server.settled;
  const [, port = ''] = /:(\d+)$/.exec(server.address) ?? [];
  follow(port);
  say('up');
  for await (const line of createInterface({ input: process.stdin })) void obey(port, line);
  await server.close();
  process.kill(process.pid, 'SIGTERM');
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function obey(port: string, line: string): Promise<void> {
  const [kind, number = '', code = '', size, die, retries] = line.split(' ');
  if (kind === 'c') return tell(port, number, code);
  const tool = retries === '0' ? 'once' : 'tool';
  const order = {
    key: `u/${number}`,
    tool,
    priority: 1,
    input: { line: `${number} ${code} ${size} ${die}` },
  };
  const { status, body } = await ask(port, 'POST', '/tasks', order);
  const { task } = body as { task?: TaskLine };
  pass('before-ack');
  say(task === undefined ? `x ${number} ${status} ${JSON.stringify(body)}` : `a ${number} ${task.id}`);
  pass('after-ack');
}

async function tell(port: string, number: string, id: string): Promise<void> {
  const known = { key: `u/${number}`, tool: 'tool', priority: 1, input: { line: '' }, known: true };
  const [line, status] = await Promise.all([
    ask(port, 'POST', '/tasks', known).then(({ body }) => (body as { task?: TaskLine }).task),
    ask(port, 'GET', `/getTaskStatus?taskId=${id}`).then(({ body }) => (body as { task?: unknown }).task),
  ]);
  const { result, logTail = '' } = (status ?? {}) as {
    result?: { content: { text: string }[] } | null;
    logTail?: string;
  };
  const text = line?.status === 'completed' ? result?.content[0]?.text : logTail;
  const told = line && {
    ...{ status: line.status, exitCode: line.exitCode, reason: line.reason || null, attempt: 1 },
    result: text === undefined ? null : { content: [{ text }] },
  };
  say(
    `r ${number} ${JSON.stringify(told?.reason === 'Failed' ? { ...told, reason: null } : (told ?? null))}`,
  );
}

/** Says of every task that has ended that it has. */
function follow(port: string): void {
  request({ host: '127.0.0.1', port, path: '/changes' }, (response) => {
    createInterface({ input: response }).on('line', (text) => {
      const line = JSON.parse(text) as Partial<TaskLine>;
      if (line.type !== 'task' || line.key === undefined || line.finishedAt == null) return;
      pass('after-result');
      if (line.reason !== 'Interrupted') say(`d ${line.key.slice(2)}`);
    });
  }).end();
}

function ask(
  port: string,
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number | undefined; body: unknown }> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const outgoing = request({ host: '127.0.0.1', port, method, path, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (chunk: Buffer) => parts.push(chunk));
      response.once('end', () => {
        resolve({ status: response.statusCode, body: JSON.parse(Buffer.concat(parts).toString('utf8')) });
      });
    });
    outgoing.once('error', reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
