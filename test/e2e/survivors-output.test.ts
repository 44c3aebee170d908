import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { startAgentServer } from '#test/bench/harness/agent-server.ts';
import { BenchScope } from '#test/bench/harness/scope.ts';
import { openClient } from '#test/fixtures/survivors/client.ts';

const capped = /command wrote more than 10485760 bytes of output/;
interface Output {
  readonly script: string;
  readonly answer: RegExp;
}
/** What tools write, and what the call comes to; the limits are the defaults. */
const outputs: Readonly<Record<string, Output>> = {
  'ten gigabytes': { script: 'head -c 10000000000 /dev/zero', answer: capped },
  'a million lines': { script: 'yes | head -n 1000000', answer: /^(y\n){1000}/ },
  'three million lines': { script: 'seq 3000000', answer: capped },
  'no line end': { script: "head -c 30000000 /dev/zero | tr '\\0' x", answer: capped },
  'a few bytes that are no UTF-8': { script: "printf '\\377\\376ok\\200'", answer: /^\ufffd+ok\ufffd$/ },
  'endless bytes that are no UTF-8': { script: "tr '\\0' '\\377' </dev/zero", answer: capped },
  'a gigabyte of errors': {
    script: 'yes | head -c 1000000000 >&2; echo done',
    answer: /^done\n$/,
  },
  'a line of fifty megabytes on descriptor 3': {
    script: 'head -c 50000000 /dev/zero >&3; echo done',
    answer: /^done\n$/,
  },
};
const mostMiB = 32;

test('output without measure is cut off, told as an error, and takes little memory', {
  timeout: 180_000,
}, async (t) => {
  const scope = new BenchScope();
  t.after(() => scope.end());
  const all: typeof outputs = { small: { script: 'echo small', answer: /^small\n$/ }, ...outputs };
  const tools = Object.entries(all).map(([name, { script }]) => ({
    name,
    command: ['/bin/sh', '-c', script],
    inputSchema: { type: 'object' },
  }));
  const server = await startAgentServer(scope, { mcp: { tools }, withoutTokens: true });
  const client = await openClient(server.socket);
  for (let round = 0; round < 50; round++) await client.call('small');
  for (const [name, { answer }] of Object.entries(all)) {
    const before = watched(server.pid).map(startWatch);
    const started = performance.now();
    const told = await client.call(name);
    assert.match(told?.text ?? '', answer, name);
    assert.equal(told?.isError, answer === capped, name);
    const grown = before.map(({ pid, rss }) => peakOf(pid) - rss);
    t.diagnostic(
      `${name}: ${Math.round(performance.now() - started)} ms, MiB ${grown.map(Math.round).join(' and ')}`,
    );
    for (const mib of grown) assert.ok(mib <= mostMiB, `${name}: ${mib} MiB`);
  }
});

/** The agent-server and its spawner. */
function watched(pid: number): number[] {
  return [
    pid,
    ...readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
  ];
}

/** Lets the kernel's high-water mark begin anew. */
function startWatch(pid: number): { pid: number; rss: number } {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  return { pid, rss: status(pid, 'VmRSS') };
}

function peakOf(pid: number): number {
  return status(pid, 'VmHWM');
}

/** MiB. */
function status(pid: number, field: string): number {
  const text = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1]) / 1024;
}
