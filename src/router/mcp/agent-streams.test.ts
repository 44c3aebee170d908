import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#kit/log.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { streamBinding } from '#wire/binding.ts';
import { anonymous } from '../caller.ts';
import type { Services } from '../services.ts';
import type { AgentCall, AnswerSink } from '../upstream/send.ts';
import { createAgentStreams } from './agent-streams.ts';

/** A router whose agent the test plays. */
function start() {
  const clock = createFakeClock();
  const calls: AgentCall[] = [];
  const sinks: AnswerSink[] = [];
  const services = {
    limits: { agentStreams: 8, agentStreamSilenceMs: 60_000 },
    clock,
    log: silentLog,
    random: { fraction: () => 0 },
    sender: {
      send(call: AgentCall, makeSink: (flow: { resume(): void; abort(): void }) => AnswerSink) {
        calls.push(call);
        sinks.push(makeSink({ resume: () => undefined, abort: () => undefined }));
      },
    },
  } as unknown as Services;
  const heard: string[] = [];
  const call = {
    ...{ agent: 'default/demo', method: 'GET', path: '/mcp', headers: {} },
    ...{ binding: streamBinding, caller: anonymous },
  };
  const close = createAgentStreams(services).keep({ call, onEvent: (data) => heard.push(data) });
  const play = (status: number, text: string) => {
    const sink = sinks.at(-1);
    sink?.head(status, { 'content-type': 'text/event-stream' });
    if (status !== 200) return;
    sink?.data(Buffer.from(text));
    sink?.ended();
  };
  return { clock, calls, heard, play, close };
}

test('a stream that breaks is asked for what was missed, as long as the agent knows it', async () => {
  const { clock, calls, heard, play, close } = start();
  const asked = () => calls.at(-1)?.headers['last-event-id'];
  play(200, 'id: -.a\nretry: 5\ndata: \n\nid: -.b\ndata: {"one":1}\n\n');
  await clock.advance(60_000);
  assert.deepEqual([calls.length, asked(), heard], [2, '-.b', ['{"one":1}']]);
  play(200, '');
  await clock.advance(60_000);
  assert.equal(asked(), '-.b');
  play(400, '');
  await clock.advance(60_000);
  assert.deepEqual([calls.length, asked()], [4, undefined]);
  play(200, 'data: {"two":2}\n\n');
  await clock.advance(60_000);
  assert.deepEqual([calls.length, asked(), heard.length], [5, undefined, 2]);
  close?.();
});
