import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { systemRandom } from '#kit/random.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { defaultSettings, type Settings } from '../config/settings.ts';
import { createEventIds, type Position } from './event-ids.ts';
import { KeptStreams } from './kept-streams.ts';

const keyOf = (fill: number) => ({ kid: `0000000${fill}`, secret: Buffer.alloc(32, fill) });

function idsOf(instance: string, keys = [keyOf(1)]) {
  return createEventIds({ agent: 'agent:default/demo', instance, keys: () => keys });
}

function start(changes: Partial<Settings> = {}) {
  const clock = createFakeClock();
  const ids = idsOf('i');
  const streams = new KeptStreams({
    clock,
    random: systemRandom,
    ids,
    settings: { ...defaultSettings, ...changes },
  });
  const open = (session: string, owner = session, request: number | undefined = 1) =>
    streams.open({ session, owner, request, primes: true });
  const idOf = (session: string, stream: string) =>
    ids.make(session, { stream, cursor: 0, request: 1, own: false });
  const isKept = (session: string, stream: string) =>
    streams.find(session, idOf(session, stream)).kind === 'kept';
  return { clock, streams, open, isKept };
}

const position = fc.record<Position>(
  {
    stream: fc.base64String({ minLength: 1, maxLength: 12 }),
    cursor: fc.nat(),
    request: fc.oneof(fc.string({ maxLength: 20 }), fc.integer(), fc.constant(undefined)),
    own: fc.boolean(),
  },
  { noNullPrototype: true },
);

test('an id says to its own session where it was, and to nobody else, whichever instance is asked', () => {
  fc.assert(
    fc.property(position, fc.string(), fc.string(), fc.uuid(), (where, session, other, instance) => {
      const id = idsOf(instance).make(session, where);
      assert.match(id, /^[\x21-\x7e]+$/);
      assert.deepEqual(idsOf('another').read(session, id), where);
      if (other !== session) assert.equal(idsOf(instance).read(other, id), undefined);
      assert.equal(idsOf(instance, [keyOf(2)]).read(session, id), undefined);
      assert.deepEqual(idsOf(instance, [keyOf(2), keyOf(1)]).read(session, id), where);
      assert.equal(idsOf(instance).read(session, id.slice(0, -1)), undefined);
    }),
  );
});

test('the id of an event of a call says where the call is, that of a session’s own stream does not', () => {
  const where = { stream: 's', cursor: 1, request: 7 };
  assert.match(idsOf('here').make('a', { ...where, own: false }), /^here\./);
  assert.match(idsOf('here').make('a', { ...where, own: true }), /^-\./);
});

test('a request’s id that is too long is not in the events’ ids', () => {
  const ids = idsOf('i');
  const long = { stream: 's', cursor: 1, request: 'x'.repeat(1000), own: false };
  assert.equal(ids.read('a', ids.make('a', long))?.request, undefined);
});

test('what nobody reads is forgotten in time, and whoever waits for its client hears of it', async () => {
  const { clock, streams, open, isKept } = start({ resumeMs: 1000 });
  const stream = open('a');
  let gone = 0;
  stream.whenGone(() => {
    gone += 1;
  });
  assert.ok(stream.send('{}'));
  await clock.advance(999);
  assert.ok(isKept('a', stream.name));
  await clock.advance(1);
  assert.deepEqual([isKept('a', stream.name), streams.size, streams.bytes, gone], [false, 0, 0, 1]);
  assert.equal(stream.send('{}'), false, 'nobody can hear it');
  stream.whenGone(() => {
    gone += 1;
  });
  assert.deepEqual([gone, clock.pending], [2, 0]);
});

test('an answer is kept from its end on, and its end is no loss', async () => {
  const { clock, streams, open, isKept } = start({ resumeMs: 1000 });
  const stream = open('a');
  stream.whenGone(() => assert.fail('it is over'));
  await clock.advance(900);
  stream.finish('{}');
  assert.equal(streams.running, 0);
  await clock.advance(900);
  assert.ok(isKept('a', stream.name));
  await clock.advance(100);
  assert.deepEqual([streams.size, streams.bytes, clock.pending], [0, 0, 0]);
});

const text = JSON.stringify('x'.repeat(900));

test('of one user what is over is forgotten first, then what began first; other users lose nothing', () => {
  const { streams, open, isKept } = start({ maxStreamBytesPerUser: 2100 });
  const [running, over, other] = [open('a', 'ann'), open('b', 'ann'), open('c', 'bob')];
  for (const stream of [running, other]) stream.send(text);
  over.finish(text);
  assert.ok(isKept('b', over.name));
  const another = open('d', 'ann');
  another.send(text);
  assert.ok(!isKept('b', over.name), 'what was over is gone');
  assert.ok(isKept('a', running.name) && running.bytes > 0);
  another.send(text);
  assert.deepEqual([running.bytes, isKept('a', running.name)], [0, true], 'it runs on, its events are gone');
  assert.ok(other.bytes > 0 && another.bytes > 0);
  assert.equal(streams.bytes, other.bytes + another.bytes);
});

test('a stream that ends keeps its answer where the limits allow it: whatever else is forgotten', () => {
  const { streams, open, isKept } = start({ maxStreamBytesPerUser: 2100 });
  const [ending, running] = [open('a', 'ann'), open('b', 'ann')];
  ending.send(text);
  running.send(text);
  ending.finish(text);
  assert.ok(isKept('a', ending.name));
  assert.ok(ending.bytes > 900 && ending.bytes < 1100, 'the answer, and what came before it no more');
  assert.ok(running.bytes > 0);
  const another = open('c', 'ann');
  another.finish(JSON.stringify('x'.repeat(1500)));
  assert.ok(isKept('c', another.name) && another.bytes > 1500);
  assert.deepEqual([isKept('a', ending.name), running.bytes], [false, 0]);
  assert.ok(streams.bytes <= 2100);
});

test('an answer that the limits do not allow is lost, and whoever comes back is told so', () => {
  const { streams, open, isKept } = start({ maxStreamBytesPerUser: 500 });
  const stream = open('a', 'ann');
  stream.send('{}');
  stream.finish(text);
  assert.deepEqual([isKept('a', stream.name), streams.size, streams.bytes], [false, 0, 0]);
  const tiny = start({ maxStreamBytes: 1 });
  const short = tiny.open('a');
  short.finish(text);
  assert.deepEqual([tiny.isKept('a', short.name), tiny.streams.size, tiny.clock.pending], [false, 0, 0]);
});

test('of all users the same', () => {
  const { streams, open } = start({ maxStreamBytesInAll: 5000 });
  for (let index = 0; index < 100; index += 1) {
    const stream = open(`s${index}`);
    stream.send(text);
    stream.finish(text);
    assert.ok(streams.bytes <= 5000);
  }
  assert.ok(streams.size <= 3);
});

test('whatever is told, the limits hold, and nothing is left when the sessions have ended', () => {
  const step = fc.record({
    session: fc.nat(4),
    what: fc.constantFrom('open', 'send', 'finish', 'drop', 'end'),
    size: fc.nat(600),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const { streams, open, isKept } = start({
        maxStreamEvents: 4,
        maxStreamBytes: 1500,
        maxStreamBytesPerUser: 2000,
        maxStreamBytesInAll: 3000,
      });
      const opened: ReturnType<typeof open>[] = [];
      for (const { session, what, size } of steps) {
        const stream = opened.at(session);
        if (what === 'open') opened.unshift(open(`s${session}`, `o${session % 2}`));
        else if (what === 'send') stream?.send(`"${'x'.repeat(size)}"`);
        else if (what === 'finish') stream?.finish(`"${'x'.repeat(size)}"`);
        else if (what === 'drop' && stream !== undefined) streams.drop(stream);
        else if (what === 'end') streams.endSession(`s${session}`);
        assert.ok(streams.bytes <= 3000 && opened.every(({ bytes }) => bytes <= 1500));
        assert.ok(
          opened.every(({ over, bytes, name, session }) => !over || bytes > 0 || !isKept(session, name)),
        );
        const sum = opened.reduce((total, { bytes }) => total + bytes, 0);
        assert.equal(streams.bytes, sum);
      }
      for (let session = 0; session <= 4; session += 1) streams.endSession(`s${session}`);
      assert.deepEqual([streams.size, streams.bytes, streams.running], [0, 0, 0]);
    }),
  );
});
