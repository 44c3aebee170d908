import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import { type TestContext, test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import { codeOf } from '#kit/errors.ts';
import { listen } from './testing.ts';
import { TunnelAgent } from './tunnel.ts';

const bounded = { timeout: 20_000 };
const most = 4;

interface Place {
  readonly agent: TunnelAgent;
  /** Tunnels that were asked for, and the most that were open or being opened at once. */
  readonly asked: { total: number; most: number };
  /** The status that a request is answered with, or the code of its error. */
  get(): Promise<number | string | undefined>;
}

/** A proxy that takes its time to open a tunnel and answers with `statusOf` its number, before a server that takes its own. */
async function start(t: TestContext, statusOf: (count: number) => number, keepAlive = true): Promise<Place> {
  const asked = { total: 0, open: 0, most: 0 };
  const target = createServer((_, response) => {
    setTimeout(() => response.writeHead(200, keepAlive ? {} : { connection: 'close' }).end('{}'), 10);
  });
  const proxy = createServer();
  proxy.on('connect', (_, socket) => {
    asked.total += 1;
    asked.open += 1;
    asked.most = Math.max(asked.most, asked.open);
    socket.once('close', () => {
      asked.open -= 1;
    });
    const status = statusOf(asked.total);
    setTimeout(() => {
      if (status !== 200) {
        socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`);
        return;
      }
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      target.emit('connection', socket);
    }, 30);
  });
  const proxyPort = await listen(t, proxy);
  const port = await listen(t, target);
  const options = { proxyPort, authorities: () => undefined, clock: systemClock };
  const agent = new TunnelAgent({ ...options, tls: false, maxSockets: most });
  t.after(() => agent.destroy());
  return {
    agent,
    asked,
    get: () =>
      new Promise((resolve) => {
        request({ host: 'remote.test', port, agent }, (answer) => {
          answer.resume().once('end', () => resolve(answer.statusCode));
        })
          .once('error', (error) => resolve(codeOf(error)))
          .end();
      }),
  };
}

const many = (place: Place, count: number) => Promise.all(Array.from({ length: count }, () => place.get()));

for (const keepAlive of [true, false]) {
  test(`a burst opens no more connections than there may be (kept: ${keepAlive})`, bounded, async (t) => {
    const place = await start(t, () => 200, keepAlive);
    assert.deepEqual(new Set(await many(place, 30)), new Set([200]));
    assert.equal(place.asked.most, most);
    if (keepAlive) assert.equal(place.asked.total, most);
    assert.equal(place.agent.maxSockets, most);
  });
}

test(
  'a connection for which there is no room fails its own request, and no other waits for it',
  bounded,
  async (t) => {
    const place = await start(t, (count) => (count <= 6 ? 429 : 200), false);
    const answers = await many(place, 12);
    assert.equal(answers.filter((answer) => answer === 'UpstreamBusy').length, 6);
    assert.equal(answers.filter((answer) => answer === 200).length, 6);
    assert.equal(place.asked.most, most);
  },
);

test('when no connection can be had every request that waits is told', bounded, async (t) => {
  const place = await start(t, () => 502);
  assert.deepEqual(new Set(await many(place, 12)), new Set(['UpstreamLost']));
});
