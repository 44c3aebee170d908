import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';
import { createRouterKeys } from '#router/keys.ts';
import { seal, unseal } from '#wire/seal.ts';
import { type HostileCase, type Refusal, slowest } from '../case.ts';
import { echoOf, jsonHeaders, openSession, send, surfaces } from '../client.ts';
import type { Place } from '../place.ts';

const purpose = 'mcp-session';

/** The same session id as a router would have sealed it for somebody else, or for another time. */
async function reseal(place: Place, id: string, change: Record<string, unknown>): Promise<string> {
  const masters = await place.masters();
  const { sessionSeal } = createRouterKeys({ current: () => masters });
  const packed = unseal(sessionSeal, purpose, id);
  assert.ok(packed !== undefined, 'the id is not sealed with the master key');
  return seal(sessionSeal, purpose, { ...packed, ...change });
}

/** Ids that are somebody else's, or nobody's, made of one that is good. */
async function foreignIds(place: Place, id: string, elsewhere: string): Promise<Record<string, string>> {
  const masters = await place.masters();
  const keys = createRouterKeys({ current: () => masters });
  const packed = unseal(keys.sessionSeal, purpose, id) ?? {};
  const middle = Math.floor(id.length / 2);
  const flipped = id[middle] === 'A' ? 'B' : 'A';
  return {
    'of another user': await reseal(place, id, { u: 'alice' }),
    'of another endpoint': elsewhere,
    expired: await reseal(place, id, { e: 1 }),
    'with one character changed': `${id.slice(0, middle)}${flipped}${id.slice(middle + 1)}`,
    'cut short': id.slice(0, -4),
    'sealed for another purpose': seal(keys.sessionSeal, 'mcp-other', packed),
    'sealed with another key': seal([{ kid: '00000000', secret: Buffer.alloc(32, 1) }], purpose, packed),
    'the bare key of the session': String(packed['k']),
    'made up': 'router:1',
  };
}

async function useEverywhere(place: Place, path: string, what: string, id: string): Promise<Refusal> {
  const { port } = place.router;
  const headers = { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
  const slow: number[] = [];
  for (const [method, body] of [
    ['POST', echoOf(path, `stolen ${what}`)],
    ['POST', { jsonrpc: '2.0', id: 1, method: 'tools/list' }],
    ['POST', { jsonrpc: '2.0', id: 1, result: {} }],
    ['GET', undefined],
    ['DELETE', undefined],
  ] as const) {
    const answer = await send(port, path, body, headers, method);
    assert.equal(answer.status, 404, `${path} ${method} ${what}: ${answer.text.slice(0, 200)}`);
    slow.push(answer.ms);
  }
  return { answer: '404', ms: Math.max(...slow) };
}

const foreignSessions: HostileCase = {
  name: 'sessions of another user, endpoint, time or key',
  async attack(place) {
    const refusals: Refusal[] = [];
    for (const [index, path] of surfaces.entries()) {
      const other = surfaces[(index + 1) % surfaces.length] ?? path;
      const { 'mcp-session-id': id = '' } = await openSession(place.router.port, path);
      const { 'mcp-session-id': elsewhere = '' } = await openSession(place.router.port, other);
      for (const [what, foreign] of Object.entries(await foreignIds(place, id, elsewhere)))
        refusals.push(await useEverywhere(place, path, what, foreign));
    }
    assert.ok(!(await place.seen()).some((line) => line.includes('stolen')));
    return slowest(refusals);
  },
  async control(place) {
    for (const path of surfaces) {
      const opened = await openSession(place.router.port, path);
      const same = await reseal(place, opened['mcp-session-id'] ?? '', {});
      const headers = { ...opened, 'mcp-session-id': same };
      const answer = await send(place.router.port, path, echoOf(path, 'own'), headers);
      assert.equal(answer.json?.result?.content?.[0]?.text, 'own', answer.text.slice(0, 300));
    }
    return 'the same id, sealed again for its own user, is served';
  },
};

interface Client {
  readonly name: string;
  readonly headers: Record<string, string>;
}

/** Two clients call with the same ids at the same time over the same connections. Gives how many answers crossed. */
async function interleave(
  origin: string,
  path: string,
  clients: readonly Client[],
  calls: number,
): Promise<number> {
  const pool = new Pool(origin, { connections: 16, pipelining: 1 });
  let next = 0;
  let crossed = 0;
  const call = async (serial: number) => {
    const id = Math.floor(serial / clients.length);
    const client = clients[serial % clients.length];
    assert.ok(client !== undefined);
    const text = `${client.name} ${id}`;
    const body = JSON.stringify(echoOf(path, text, id));
    const headers = { ...jsonHeaders, ...client.headers };
    const answer = await pool.request({ method: 'POST', path, headers, body });
    const json = (await answer.body.json()) as { id: number; result?: { content: { text: string }[] } };
    const said = json.result?.content[0]?.text;
    assert.ok(said !== undefined, JSON.stringify(json).slice(0, 300));
    if (json.id !== id || said !== text) crossed += 1;
  };
  const worker = async () => {
    for (let serial = next++; serial < calls; serial = next++) await call(serial);
  };
  await Promise.all(Array.from({ length: 32 }, worker));
  await pool.close();
  return crossed;
}

async function twoClients(port: number, path: string): Promise<Client[]> {
  const names = ['first', 'second'];
  return Promise.all(names.map(async (name) => ({ name, headers: await openSession(port, path) })));
}

/**
 * A gateway as some were: all clients share one transport, which knows who waits by the request's id alone (the SDK's
 * before 1.26, CVE-2026-25536).
 */
async function startCrossingGateway(port: number, path: string, headers: Record<string, string>) {
  const waiting = new Map<unknown, (text: string) => void>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', async () => {
      const body = Buffer.concat(parts).toString('utf8');
      const id: unknown = JSON.parse(body).id;
      const before = waiting.get(id);
      waiting.set(id, (text) => response.end(text));
      const { text } = await send(port, path, body, headers);
      waiting.get(id)?.(text);
      // Whoever waited under this id before is nobody's any more.
      before?.(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** `calls` in all, shared out among the surfaces. */
export function interleaved(calls: number): HostileCase {
  return {
    name: `${calls.toLocaleString('en-US')} interleaved calls of two clients with equal ids`,
    async attack({ router: { port } }) {
      const begun = performance.now();
      for (const path of surfaces) {
        const share = Math.ceil(calls / surfaces.length);
        const clients = await twoClients(port, path);
        const crossed = await interleave(`http://127.0.0.1:${port}`, path, clients, share);
        assert.equal(crossed, 0, `${path}: ${crossed} of ${share} answers crossed`);
      }
      const each = (performance.now() - begun) / calls;
      return { answer: '0 crossed', ms: each };
    },
    async control({ router: { port } }) {
      const [path] = surfaces;
      const clients = await twoClients(port, path);
      const gateway = await startCrossingGateway(port, path, clients[0]?.headers ?? {});
      const crossed = await interleave(gateway.origin, path, clients, 1_000);
      gateway.server.closeAllConnections();
      gateway.server.close();
      assert.ok(crossed > 0, 'nothing crossed where it must');
      return `a gateway with one shared transport crosses ${crossed} of 1,000`;
    },
  };
}

/** The suite's size; the whole is a make target's. */
export const sessions: readonly HostileCase[] = [foreignSessions, interleaved(1_500)];
