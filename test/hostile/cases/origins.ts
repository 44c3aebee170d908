import assert from 'node:assert/strict';
import { type HostileCase, type Refusal, slowest } from '../case.ts';
import { surfaces } from '../client.ts';
import type { Attacked, Place } from '../place.ts';
import { sendRaw } from '../raw.ts';

// What a browser can be made to send by a page of somebody else's: by DNS rebinding a foreign Host, across sites a
// foreign Origin. Nothing of it may reach an agent or open a session.

const foreignHosts = (port: number): readonly string[] => [
  'evil.example',
  `evil.example:${port}`,
  'localhost.evil.example',
  `127.0.0.1.evil.example:${port}`,
  `evil.example#127.0.0.1:${port}`,
  `user@127.0.0.1:${port}`,
  '127.0.0.1:1',
  'localhost',
  `127.0.0.2:${port}`,
  `[::ffff:7f00:1]:${port}`,
  `2130706433:${port}`,
  `0x7f.1:${port}`,
  `localhost.:${port}`,
  `LOCALHOST.EVIL.EXAMPLE:${port}`,
  `127.0.0.1:${port}, evil.example`,
  '*',
  '',
];

const foreignOrigins = (port: number): readonly string[] => [
  'http://evil.example',
  'https://evil.example',
  'null',
  'file://',
  `http://localhost.evil.example:${port}`,
  `http://evil.example#127.0.0.1:${port}`,
  `http://127.0.0.1:${port}@evil.example`,
  `http://127.0.0.1:${port}/../evil.example`,
  'http://127.0.0.1:1',
  'chrome-extension://abcdefghijklmnop',
  `ws://127.0.0.1:${port}`,
  `http://127.0.0.1:${port} http://evil.example`,
  '',
];

const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
});

const requests = [
  ...surfaces.flatMap((path) => ['POST', 'GET', 'DELETE', 'OPTIONS'].map((method) => ({ method, path }))),
  ...['GET', 'POST', 'OPTIONS'].map((method) => ({ method, path: '/apis/honest/data' })),
] as const;

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly origin?: string;
}

function bytesOf({ method, path, host, origin }: Sent): string {
  const body = method === 'POST' ? initialize : '';
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${host}`,
    ...(origin === undefined ? [] : [`Origin: ${origin}`]),
    'accept: application/json, text/event-stream',
    ...(method === 'POST' ? ['content-type: application/json', `content-length: ${body.length}`] : []),
    'connection: close',
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

async function refuseEach(place: Place, sent: readonly Sent[]): Promise<Refusal> {
  const before = await place.seenCount();
  const refusals: Refusal[] = [];
  for (const one of sent) {
    const answer = await sendRaw(place.router.port, bytesOf(one));
    const status = answer.statuses[0] ?? 0;
    assert.ok(status === 403 || status === 400, `${JSON.stringify(one)}: ${answer.text.slice(0, 200)}`);
    assert.doesNotMatch(answer.text, /mcp-session-id|access-control-allow-origin/i, JSON.stringify(one));
    refusals.push({ answer: String(status), ms: answer.ms });
  }
  assert.equal(await place.seenCount(), before, 'something reached the agent');
  return slowest(refusals);
}

async function assertServed({ port }: Attacked, host: string, origin?: string): Promise<void> {
  for (const path of [...surfaces, '/apis/honest/data']) {
    const method = path.startsWith('/apis') ? 'GET' : 'POST';
    const sent = bytesOf({ method, path, host, ...(origin !== undefined && { origin }) });
    const answer = await sendRaw(port, sent);
    assert.equal(answer.statuses[0], 200, `${path}: ${answer.text.slice(0, 200)}`);
  }
}

const allowing = new WeakMap<Place, Promise<Attacked>>();
function routerThatAllows(place: Place): Promise<Attacked> {
  const flags = ['--allow-host', 'evil.example', '--allow-origin', 'http://evil.example'];
  const known = allowing.get(place) ?? place.startRouter(flags);
  allowing.set(place, known);
  return known;
}

export const origins: readonly HostileCase[] = [
  {
    name: 'Hosts that are not the router’s',
    attack: (place) =>
      refuseEach(
        place,
        requests.flatMap((request) => foreignHosts(place.router.port).map((host) => ({ ...request, host }))),
      ),
    async control(place) {
      const { port } = place.router;
      for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`])
        await assertServed(place.router, host);
      await assertServed(await routerThatAllows(place), 'evil.example');
      return 'its own Hosts are served, and a foreign one where it is allowed';
    },
  },
  {
    name: 'Origins of other sites',
    attack: (place) => {
      const host = `127.0.0.1:${place.router.port}`;
      return refuseEach(
        place,
        requests.flatMap((request) =>
          foreignOrigins(place.router.port).map((origin) => ({ ...request, host, origin })),
        ),
      );
    },
    async control(place) {
      const host = `127.0.0.1:${place.router.port}`;
      await assertServed(place.router, host);
      await assertServed(place.router, host, `http://${host}`);
      const other = await routerThatAllows(place);
      await assertServed(other, `127.0.0.1:${other.port}`, 'http://evil.example');
      return 'its own Origin is served, and a foreign one where it is allowed';
    },
  },
];
