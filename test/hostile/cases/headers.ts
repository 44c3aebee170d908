import assert from 'node:assert/strict';
import { type HostileCase, type Refusal, slowest } from '../case.ts';
import { echoOf, openSession, surfaces } from '../client.ts';
import type { Place } from '../place.ts';
import { sendRaw } from '../raw.ts';

const paths = [...surfaces, '/apis/honest/data', '/health', '/'] as const;

async function refuseHeaders(
  place: Place,
  lines: (path: string) => string,
  statuses: readonly number[],
): Promise<Refusal> {
  const { port } = place.router;
  const before = await place.seenCount();
  const refusals: Refusal[] = [];
  for (const path of paths) {
    const answer = await sendRaw(port, `${lines(path)}\r\n\r\n`);
    const status = answer.statuses[0] ?? 0;
    // A connection that is reset while the client still sends can lose the answer.
    const isRefused = statuses.includes(status) || (status === 0 && answer.ended === 'closed');
    assert.ok(isRefused, `${path}: ${answer.text.slice(0, 300)}`);
    refusals.push({ answer: String(status || 'closed'), ms: answer.ms });
  }
  assert.equal(await place.seenCount(), before);
  return slowest(refusals);
}

/** A call with these headers besides its own is served, and the agent sees `passed` of them. */
async function assertServed({ router, seen }: Place, lines: string, passed: RegExp): Promise<void> {
  const path = surfaces[0];
  const session = await openSession(router.port, path);
  const body = JSON.stringify(echoOf(path, 'with headers'));
  const own = { ...session, 'content-type': 'application/json', 'content-length': String(body.length) };
  const named = Object.entries(own).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${router.port}\r\n${named.join('')}${lines}\r\n`;
  const answer = await sendRaw(router.port, head + body);
  assert.deepEqual(answer.statuses, [200], answer.text.slice(0, 300));
  assert.match((await seen()).at(-1) ?? '', passed);
}

function get(port: number, path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}`;
}

function many(count: number): string {
  return Array.from({ length: count }, (_, index) => `x-${index}: v\r\n`).join('');
}

export const headers: readonly HostileCase[] = [
  {
    name: '100,000 headers',
    attack: (place) =>
      refuseHeaders(place, (path) => `${get(place.router.port, path)}\r\n${many(100_000)}x: y`, [431]),
    async control(place) {
      await assertServed(place, `${many(2_400)}mcp-param-last: seen\r\n`, /"mcp-param-last":"seen"/);
      return '2,400 are served, the last one too';
    },
  },
  {
    name: 'a header of a megabyte',
    attack: (place) =>
      refuseHeaders(place, (path) => `${get(place.router.port, path)}\r\nx: ${'a'.repeat(1_000_000)}`, [431]),
    async control(place) {
      await assertServed(place, `mcp-param-long: ${'a'.repeat(10_000)}\r\n`, /"mcp-param-long":"aaaa/);
      return 'one of 10,000 characters is served';
    },
  },
  {
    name: 'a path of a megabyte',
    attack: (place) =>
      refuseHeaders(place, (path) => get(place.router.port, `${path}/${'a'.repeat(1_000_000)}`), [431, 400]),
    async control(place) {
      const path = `/apis/honest/${'a'.repeat(10_000)}`;
      const answer = await fetch(`http://127.0.0.1:${place.router.port}${path}`);
      assert.equal(answer.status, 200);
      await answer.text();
      return 'one of 10,000 characters is served';
    },
  },
  {
    name: 'headers of programs that say who calls',
    async attack(place) {
      const spoofed = ['x-forwarded-for: 1.2.3.4', 'x-user: root', 'authorization: Bearer x', 'cookie: a=b'];
      const hops = ['connection: keep-alive, x-secret', 'x-secret: y', 'te: trailers', 'keep-alive: 5'];
      const head = `${get(place.router.port, '/apis/honest/data')}\r\n${[...spoofed, ...hops].join('\r\n')}\r\n\r\n`;
      const answer = await sendRaw(place.router.port, head);
      assert.deepEqual(answer.statuses, [200], answer.text.slice(0, 300));
      const seen = (await place.seen()).at(-1) ?? '';
      assert.match(seen, /^GET \/api\/data/);
      for (const name of ['x-forwarded-for', 'x-user', 'cookie', 'x-secret', 'te', 'keep-alive'])
        assert.doesNotMatch(seen, new RegExp(`"${name}":`), name);
      assert.doesNotMatch(seen, /Bearer x"/);
      return { answer: 'served without them', ms: answer.ms };
    },
    async control(place) {
      const head = `${get(place.router.port, '/apis/honest/data')}\r\nx-other: kept\r\n\r\n`;
      assert.deepEqual((await sendRaw(place.router.port, head)).statuses, [200]);
      assert.match((await place.seen()).at(-1) ?? '', /"x-other":"kept"/);
      return 'a header of no such name reaches the agent';
    },
  },
  {
    name: 'line breaks in what becomes a header or a path behind the router',
    async attack(place) {
      const { port } = place.router;
      const begun = performance.now();
      const meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      };
      const name = 'echo\r\nx-evil: 1\r\n\r\nGET /api/evil HTTP/1.1';
      const params = { name, agent: 'honest', arguments: {}, _meta: meta };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
      for (const path of surfaces) {
        const encoded = `=?base64?${Buffer.from(name).toString('base64')}?=`;
        const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
          method: 'POST',
          headers: {
            ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
            ...{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': encoded },
          },
          body,
        });
        await answer.text();
        assert.ok(answer.status < 500, `${path}: ${answer.status}`);
      }
      const paths = ['a%0d%0aX:1', 'a%00b', 'a%2f%2e%2e%2fb', '%2e%2e/b', '..%5cb', 'a\\b'];
      for (const path of paths) await sendRaw(port, `${get(port, `/apis/honest/${path}`)}\r\n\r\n`);
      const seen = await place.seen();
      assert.ok(!seen.some((line) => line.includes('"x-evil"') || line.startsWith('GET /api/evil')));
      assert.ok(!seen.some((line) => /^GET \/api\/[^ ]*[\r\n\\]|^GET \/api\/\.\./.test(line)));
      return { answer: 'nothing is injected', ms: performance.now() - begun };
    },
    async control(place) {
      const answer = await fetch(`http://127.0.0.1:${place.router.port}/apis/honest/a%20b`);
      assert.equal(((await answer.json()) as { url: string }).url, '/api/a%20b');
      return 'a path with an encoded space reaches the agent as it is';
    },
  },
];
