import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Caller, Tally } from '#test/bench/faults/caller.ts';
import { runChurn } from '#test/bench/faults/churn-run.ts';
import { openFaultGround, untilReady } from '#test/bench/faults/ground.ts';
import { runKills } from '#test/bench/faults/kill-run.ts';
import { runNeighbours } from '#test/bench/faults/neighbours-run.ts';
import { runShutdowns } from '#test/bench/faults/shutdown-run.ts';
import { BenchScope, until } from '#test/bench/harness/scope.ts';
import { jsonText } from '#test/bench/load/answer-reader.ts';

// The small ones of `make faults`: real processes, and every figure that does not depend on the machine.

const limits = { timeout: 300_000 };

function scopeOf(t: TestContext): BenchScope {
  const scope = new BenchScope();
  t.after(() => scope.end());
  return scope;
}

test(
  'routers end by SIGTERM: no call fails or runs twice, questions are answered, streams go on',
  limits,
  async (t) => {
    const outcome = await runShutdowns(scopeOf(t), {
      calls: 600,
      connections: 8,
      streams: 8,
      asks: 4,
      ends: ['overlap', 'gap'],
      drainMs: 1_000,
    });
    assert.deepEqual([...outcome.tally.failures, ...outcome.askFailures], []);
    assert.equal(outcome.answered, 16, 'of each era four, at each of the two ends');
    assert.ok(outcome.resumed >= 1, 'who was asked by a router that has gone took the stream up again');
    assert.equal(outcome.runs, outcome.texts, 'nothing ran twice');
    assert.equal(outcome.tally.refused, 0);
    assert.deepEqual(outcome.exits, [0, 0]);
    assert.ok(outcome.reopened >= 16, `${outcome.reopened} streams were opened again`);
    assert.equal(outcome.cut, 0, 'streams are ended, not cut');
    assert.equal(outcome.heard, 8, 'every stream heard of a change after that');
    t.diagnostic(`${outcome.tally.resent} requests met a connection that was closed, and were sent again`);
  },
);

for (const routers of [1, 2] as const) {
  test(
    `routers are killed, ${routers} at a time on the socket: no connection is refused`,
    limits,
    async (t) => {
      const order = { kills: 2, seconds: 4, perSecond: 40 };
      const { begun, tally, counted } = await runKills(scopeOf(t), order, routers);
      assert.equal(tally.refused, 0);
      assert.deepEqual(tally.failures, []);
      assert.equal(tally.done + tally.lost, begun, 'what was not in flight was answered');
      assert.ok(tally.done > 0);
      assert.equal(counted?.runs, counted?.texts, 'nothing ran twice');
      t.diagnostic(`${tally.lost} of ${begun} calls were in flight`);
    },
  );
}

test('a router that does not accept keeps a thousand connections waiting', limits, async (t) => {
  const ground = await openFaultGround(scopeOf(t));
  const { pid } = await ground.startRouter();
  await untilReady(ground.port);
  process.kill(pid, 'SIGSTOP');
  t.after(() => process.kill(pid, 'SIGCONT'));
  const sockets: Socket[] = [];
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  let connected = 0;
  let broken = 0;
  for (let index = 0; index < 1_000; index += 1) {
    const socket = connect(ground.port, '127.0.0.1');
    sockets.push(socket);
    socket.once('connect', () => {
      connected += 1;
    });
    socket.on('error', () => {
      broken += 1;
    });
  }
  // Those that found no place would be let in when the router goes on, which it does not.
  await until('all are connected', async () => connected === 1_000 || undefined);
  assert.equal(broken, 0);
});

test(
  'an agent-server that is killed during calls: they say so, and the next ones work',
  limits,
  async (t) => {
    const ground = await openFaultGround(scopeOf(t));
    await ground.startRouter();
    await untilReady(ground.port);
    const callers = ['/mcp', '/mcps/faults/mcp'].map((path) => {
      return new Caller({ port: ground.port, path, tally: new Tally(), resend: false });
    });
    t.after(() => {
      for (const caller of callers) caller.close();
    });
    for (const caller of callers) await caller.open();
    const params = (text: string) => ({ name: 'echo', arguments: { text, waitMs: 120_000 } });
    const hanging = callers.map((caller, index) =>
      caller.post({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: params(`hangs ${index}`) }),
    );
    await until('both calls run', async () => (await ground.count()).runs === 2 || undefined);
    process.kill(ground.agentPid, 'SIGKILL');
    for (const answer of await Promise.all(hanging)) {
      const { id, error } = JSON.parse(jsonText(answer)) as { id: number; error: { message: string } };
      assert.equal(id, 7);
      assert.equal(error.message, "The connection to agent 'faults' was lost; the call may have run.");
    }
    await ground.replaceAgent();
    for (const [index, caller] of callers.entries()) {
      assert.ok(await caller.call(`next ${index}`), 'the same session goes on');
    }
    assert.equal((await ground.count()).runs, 4, 'what was lost was not run again');
  },
);

test('agents that are slow, silent or dead fail no call of the others', limits, async (t) => {
  const order = { agents: 8, rounds: 1, roundMs: 1_500, perSecond: 50 };
  const { rounds, failures } = await runNeighbours(scopeOf(t), order);
  assert.deepEqual(failures, []);
  assert.ok((rounds[0]?.beside.calls ?? 0) > 0);
});

test('Routes that come, change and go fail no call', limits, async (t) => {
  const order = { calls: 2_000, changes: 60, connections: 8 };
  const outcome = await runChurn(scopeOf(t), order);
  assert.deepEqual(outcome.tally.failures, []);
  const { done, lost, refused } = outcome.tally;
  assert.deepEqual([done, lost, refused, outcome.changes], [order.calls, 0, 0, order.changes]);
  assert.equal(outcome.runs, outcome.texts);
});
