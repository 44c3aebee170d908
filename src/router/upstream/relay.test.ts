import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createFakeClock, type FakeClock, until } from '#test/fixtures/fake-clock.ts';
import { relay } from './relay.ts';
import type { AgentCall, AnswerSink, Sender } from './send.ts';

const bounded = { timeout: 20_000 };
const call = {} as AgentCall;
const chunk = Buffer.alloc(64 * 1024, 'x');

/** A relay to a real client; the test gives what the agent would. */
async function start(t: TestContext, headers: Record<string, string> = {}, first = 'first') {
  const clock = createFakeClock();
  const flow = { resumed: 0, aborted: 0 };
  let sink: AnswerSink | undefined;
  const sender: Sender = {
    send(_, make) {
      sink = make({ resume: () => void flow.resumed++, abort: () => void flow.aborted++ });
    },
  };
  let response: ServerResponse | undefined;
  function begin(client: ServerResponse): void {
    const services = { sender, clock, limits: { unreadMs: 30_000 } };
    relay(services, call, client, { headers: () => headers, fail: () => client.destroy() });
  }
  const server = createServer((_, client) => {
    response = client;
    begin(client);
    sink?.head(200, {});
    if (first !== '') sink?.data(Buffer.from(first));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const sent = get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', agent: false });
  sent.on('error', () => undefined);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  answer.on('error', () => undefined);
  assert.ok(sink !== undefined && response !== undefined);
  const served = response;
  /** Another call of the same request. */
  function again(): AnswerSink {
    begin(served);
    assert.ok(sink !== undefined);
    return sink;
  }
  return { clock, flow, sink, response, answer, again };
}

/** Gives the client more than it takes. */
function fill(sink: AnswerSink): void {
  for (let count = 0; count < 1_000 && sink.data(chunk); count += 1);
  for (let count = 0; count < 200; count += 1) sink.data(chunk);
}

test('a client that does not read is cut off, and the call with it', bounded, async (t) => {
  const { clock, flow, sink, response } = await start(t);
  fill(sink);
  assert.equal(clock.pending, 1);
  await clock.advance(29_999);
  assert.equal(response.destroyed, false);
  await clock.advance(1);
  await until(() => flow.aborted === 1, 'the call to be aborted');
  assert.equal(response.destroyed, true);
});

test('a client that reads in time gets the rest, and no deadline stays', bounded, async (t) => {
  const { clock, flow, sink, response, answer } = await start(t);
  fill(sink);
  await clock.advance(20_000);
  answer.resume();
  await until(() => flow.resumed === 1, 'the call to go on');
  assert.equal(clock.pending, 0);
  await clock.advance(60_000);
  sink.ended();
  await once(answer, 'end');
  assert.equal(flow.aborted, 0);
  assert.equal(response.writableFinished, true);
});

test('no deadline stays of a client that went away while it had to read', bounded, async (t) => {
  const { clock, flow, sink, answer } = await start(t);
  fill(sink);
  answer.destroy();
  await until(() => flow.aborted > 0, 'the call to be aborted');
  assert.equal(clock.pending, 0);
});

test(
  'what an agent sends after the router ended the answer goes nowhere and ends the call',
  bounded,
  async (t) => {
    const { flow, sink, response, answer } = await start(t);
    response.end();
    sink.data(chunk);
    assert.equal(flow.aborted, 1);
    sink.ended();
    await once(answer.resume(), 'end');
  },
);

test('a call whose answer the router ended is aborted also when the agent is silent', bounded, async (t) => {
  const { flow, response, answer } = await start(t);
  response.end();
  await once(answer.resume(), 'end');
  await until(() => flow.aborted === 1, 'the call to be aborted');
});

test('an answer that begins after the router ended it is dropped', bounded, async (t) => {
  const { flow, sink, response } = await start(t);
  response.end();
  sink.head(200, {});
  assert.equal(flow.aborted, 1);
});

test('a call for a client that is gone already is ended at once, and takes nothing', bounded, async (t) => {
  const { flow, sink, response, answer, again, clock } = await start(t);
  answer.destroy();
  await until(() => flow.aborted === 1, 'the first call to be aborted');
  assert.equal(response.destroyed, true);
  const late = again();
  assert.equal(flow.aborted, 2);
  late.head(200, {});
  assert.equal(late.data(chunk), true);
  assert.equal(sink.data(chunk), true);
  assert.equal(clock.pending, 0);
});

test('the head of an event stream goes out before its first event', bounded, async (t) => {
  const { answer } = await start(t, { 'content-type': 'text/event-stream' }, '');
  assert.equal(answer.headers['content-type'], 'text/event-stream');
});

/** Reads on and on, slowly: so many bytes, then ten seconds nothing. The number of bytes in all. */
async function readSlowly(answer: IncomingMessage, clock: FakeClock, bytes: number): Promise<number> {
  let total = 0;
  let pauseAt = bytes;
  for await (const part of answer as AsyncIterable<Buffer>) {
    total += part.length;
    if (total < pauseAt) continue;
    pauseAt += bytes;
    await clock.advance(10_000);
  }
  return total;
}

test('a client that reads a long piece slowly gets it whole, and what follows', bounded, async (t) => {
  const { clock, flow, sink, answer } = await start(t);
  assert.equal(sink.data(Buffer.alloc(60_000_000, 'x')), false);
  assert.equal(sink.data(Buffer.from('last')), false);
  sink.ended();
  assert.equal(await readSlowly(answer, clock, 8_000_000), 'first'.length + 60_000_000 + 'last'.length);
  assert.equal(flow.aborted, 0);
  assert.equal(clock.pending, 0);
});

test('a client that reads of a long piece a part and no more is cut off', bounded, async (t) => {
  const { clock, sink, response, answer } = await start(t);
  sink.data(Buffer.alloc(60_000_000, 'x'));
  await once(answer, 'readable');
  answer.read();
  await clock.advance(60_000);
  assert.equal(response.destroyed, true);
});
