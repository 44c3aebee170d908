import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import { createCallProgress } from '../call-progress.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Router } from '../router.ts';
import { createTerminal } from '../terminal.ts';
import { awaitQueued } from './await-queued.ts';

const queued = { content: [], metadata: { taskId: 'feedc0de00000001', agent: 'demo' } };
const done = { status: 'completed', result: { content: [{ type: 'text', text: 'built' }] } };

/** A router that answers each look in its turn, the last way from then on. */
async function routerOf(t: TestContext, ...answers: readonly ((response: ServerResponse) => void)[]) {
  let asked = 0;
  const server = createServer((_request, response) => {
    const answer = answers[Math.min(asked, answers.length - 1)];
    asked += 1;
    answer?.(response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => asked };
}

const tell = (task: object) => (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ task }));
};
const breakOff = (response: ServerResponse) => response.destroy();
const breakWithin = (response: ServerResponse) => {
  response.writeHead(200, { 'content-length': 100 }).write('{"task"', () => response.destroy());
};

/** Waits without pauses; `notes` is what went to standard error. */
function waitAt(router: Router, interrupted = new AbortController().signal) {
  const notes: string[] = [];
  const stream = { write: (line: string) => notes.push(line) > 0, isTTY: false };
  const terminal = createTerminal(stream, stream, {});
  let slept = 0;
  const clock = {
    ...systemClock,
    async sleep() {
      interrupted.throwIfAborted();
      slept += 1;
    },
  };
  const call = { router, namespace: 'default', result: queued, progress: createCallProgress(terminal) };
  const result = awaitQueued({ clock, interrupted, terminal }, call);
  return { result, notes, slept: () => slept };
}

test('a router that goes away while a queued call is waited for may come back', async (t) => {
  const router = await routerOf(t, tell({ status: 'running' }), breakOff, breakWithin, tell(done));
  const { result, notes } = waitAt({ url: router.url });
  assert.deepEqual((await result)['content'], done.result.content);
  assert.equal(router.asked(), 4);
  assert.deepEqual(notes, []);
});

test('a router that came back at another port is found there', async (t) => {
  const gone = await routerOf(t, breakOff);
  const back = await routerOf(t, tell(done));
  const { result } = waitAt({ url: gone.url, relocate: async () => back.url });
  assert.deepEqual((await result)['content'], done.result.content);
});

test('when the router stays away, the task is named that was waited for', async (t) => {
  const router = await routerOf(t, breakOff);
  const { result, notes, slept } = waitAt({ url: router.url });
  await assert.rejects(result, { exitCode: exitCodes.notRunning });
  assert.ok(slept() >= 60, `${slept()}`);
  assert.match(notes.join(''), /Task feedc0de00000001 of agent demo may go on\./);
});

test('a router that tells nothing of tasks, and Ctrl-C, leave the id', async (t) => {
  const old = await routerOf(t, (response) => response.writeHead(400).end('{}'));
  const refused = waitAt({ url: old.url });
  await assert.rejects(refused.result, { exitCode: exitCodes.failed });
  assert.match(refused.notes.join(''), /Task feedc0de00000001 of agent demo may go on\./);
  const busy = await routerOf(t, tell({ status: 'running' }));
  const interrupted = waitAt({ url: busy.url }, AbortSignal.abort());
  await assert.rejects(interrupted.result, { name: 'AbortError' });
  assert.match(interrupted.notes.join(''), /Task feedc0de00000001 of agent demo goes on\./);
});
