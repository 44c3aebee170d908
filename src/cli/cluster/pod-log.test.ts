import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '#kube/errors.ts';
import type { Pod } from './objects.ts';
import { followLog, type LogSource, readEnd, sourcesOf } from './pod-log.ts';

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  status: {
    initContainerStatuses: [
      { name: 'install', state: { terminated: { exitCode: 0 } } },
      { name: 'agent-server', state: { running: {} }, restartCount: 1 },
    ],
    containerStatuses: [
      { name: 'agent', state: { waiting: { reason: 'CrashLoopBackOff' } }, restartCount: 3 },
      { name: 'other', state: { waiting: { reason: 'PodInitializing' } } },
    ],
  },
};

test('sources of logs are the containers that have begun, init containers first', () => {
  const found = sourcesOf(pod).map(({ container, restarts, running }) => [container, restarts, running]);
  assert.deepEqual(found, [
    ['install', 0, false],
    ['agent-server', 1, true],
    ['agent', 3, false],
  ]);
});

const source: LogSource = {
  pod: 'p',
  namespace: 'n',
  uid: 'u',
  container: 'agent',
  restarts: 0,
  running: true,
};
const at = (second: number, text: string) => `2026-01-01T00:00:0${second}.000000000Z ${text}`;

test('the end of a log asks for as many lines as are shown, and none is no error', async () => {
  let asked = '';
  const getText = async (path: string) => {
    asked = path;
    return `${at(1, 'one')}\n${at(2, '')}\n`;
  };
  const lines = await readEnd({ getText }, source, { tail: 5, previous: true });
  assert.equal(
    asked,
    '/api/v1/namespaces/n/pods/p/log?container=agent&timestamps=true&tailLines=5&previous=true',
  );
  assert.deepEqual(
    lines.map(({ text }) => text),
    ['one', ''],
  );
  const away = async () => {
    throw new ApiError({ status: 400, message: 'waiting to start' });
  };
  assert.deepEqual(await readEnd({ getText: away }, source, { tail: 5, previous: false }), []);
});

test('a log that is followed goes on after the line that was seen, whatever the pieces', async () => {
  const text = [at(1, 'seen'), at(2, 'größer'), at(3, 'last'), ''].join('\n');
  const bytes = Buffer.from(text);
  for (const size of [1, 7, 1000]) {
    const readText = async () =>
      (async function* () {
        for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
      })();
    const signal = new AbortController().signal;
    const lines: string[] = [];
    const after = '2026-01-01T00:00:01.000000000Z';
    for await (const line of followLog({ readText }, source, { after, signal })) lines.push(line.text);
    assert.deepEqual(lines, ['größer', 'last']);
  }
});
