import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Exit, frameTypes, type Template } from '../tools/spawner-protocol.ts';
import type { Link } from './link.ts';
import { startToolProcess } from './tool-process.ts';

const timeout = 30_000;

function templateOf(script: string): Template {
  return {
    file: '/bin/sh',
    args: ['-c', script],
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    maxStdout: 1_000_000,
    maxStderr: 10_000,
    maxEvent: 300_000,
    graceMs: 300,
    prewarm: 0,
  };
}

interface Ran {
  readonly exit: Exit;
  readonly lines: readonly string[];
  readonly stdoutBytes: number;
}

/** Runs a script to its end; whatever it says on a frame of `heldType` is followed by a pause of `holdMs`. */
async function run(
  t: TestContext,
  script: string,
  { heldType = -1, holdMs = 0, reaper }: { heldType?: number; holdMs?: number; reaper?: string } = {},
): Promise<Ran> {
  const lines: string[] = [];
  let stdoutBytes = 0;
  const link: Link = {
    send: () => undefined,
    sendJson: () => undefined,
    relay(type, _id, payload, source) {
      if (type === frameTypes.event) lines.push(payload.toString());
      if (type === frameTypes.stdout) stdoutBytes += payload.length;
      if (type !== heldType) return;
      source.pause();
      const timer = setTimeout(() => source.resume(), holdMs);
      t.after(() => clearTimeout(timer));
    },
  };
  const ended = Promise.withResolvers<Exit>();
  const process = startToolProcess(
    templateOf(script),
    `test.${script.length}`,
    { link, reaper },
    {
      onFailed: ({ message }) => ended.reject(new Error(message)),
      onExit: ended.resolve,
    },
  );
  t.after(() => process.destroy());
  process.serve(1, Buffer.alloc(0));
  return { exit: await ended.promise, lines, stdoutBytes };
}

test('what a tool says last on fd 3 arrives, also when its reader is slow', { timeout }, async (t) => {
  const script = 'for n in 0 1 2 3 4 5 6 7 8 9 10 11 12; do printf "%010000d\\n" $n >&3; done; echo last >&3';
  const { exit, lines } = await run(t, script, { heldType: frameTypes.event, holdMs: 400 });
  assert.deepEqual(
    [exit.code, lines.map((line) => line.slice(-4))],
    [0, [...Array.from({ length: 13 }, (_, n) => String(n).padStart(4, '0')), 'last']],
  );
});

test('output that is held back for longer than a tool may go on after its end is not cut', {
  timeout,
}, async (t) => {
  const script = 'head -c 150000 /dev/zero';
  const { exit, stdoutBytes } = await run(t, script, { heldType: frameTypes.stdout, holdMs: 2300 });
  assert.deepEqual([exit.code, stdoutBytes], [0, 150_000]);
});

test('a tool that says that it is over as often as it can makes no more work than by saying it once', {
  timeout,
}, async (t) => {
  const warnings: string[] = [];
  const onWarning = ({ name, message }: Error) => warnings.push(`${name}: ${message}`);
  process.on('warning', onWarning);
  t.after(() => process.off('warning', onWarning));
  const script = 'for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do printf "\\0X\\n" >&3; done; echo {} >&3';
  // It adds to the environment and starts a command, as the reaper does.
  const { lines } = await run(t, script, { reaper: '/usr/bin/env' });
  await sleep(10);
  assert.deepEqual([lines, warnings], [['{}'], []]);
});

test('a call that is being ended is not waited for because its output is held back', {
  timeout,
}, async (t) => {
  const started = performance.now();
  const link: Link = {
    send: () => undefined,
    sendJson: () => undefined,
    relay: (_type, _id, _payload, source) => void source.pause(),
  };
  const exited = Promise.withResolvers<void>();
  const held = startToolProcess(
    templateOf('head -c 150000 /dev/zero; sleep 60'),
    'test.held',
    { link, reaper: undefined },
    { onFailed: ({ message }) => exited.reject(new Error(message)), onExit: () => exited.resolve() },
  );
  t.after(() => held.destroy());
  held.serve(1, Buffer.alloc(0));
  await sleep(200);
  held.kill();
  await exited.promise;
  assert.ok(performance.now() - started < 6000);
});
