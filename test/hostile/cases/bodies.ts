import assert from 'node:assert/strict';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { type HostileCase, type Refusal, slowest } from '../case.ts';
import { assertServes, callOf, echoOf, jsonHeaders, openSession, send, surfaces } from '../client.ts';
import type { Attacked, Place } from '../place.ts';
import { sendEndless } from '../raw.ts';

const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;

/** A body that is refused as a whole: with this status, and for JSON-RPC with this code. */
interface Refused {
  readonly status: number;
  readonly code?: number;
}

/** Sends a body to each surface; the agents behind must see nothing of it. */
async function refuseBody(
  place: Place,
  body: string | Buffer,
  { status, code }: Refused,
  more: Record<string, string> = {},
): Promise<Refusal> {
  const refusals: Refusal[] = [];
  for (const path of surfaces) {
    const headers = await openSession(place.router.port, path);
    const before = await place.seenCount();
    const answer = await send(place.router.port, path, body, { ...headers, ...more });
    assert.equal(answer.status, status, `${path}: ${answer.text.slice(0, 300)}`);
    if (code !== undefined) assert.equal(answer.json?.error?.code, code, answer.text.slice(0, 300));
    assert.equal(await place.seenCount(), before, `${path}: it reached the agent`);
    refusals.push({ answer: `${status}${code === undefined ? '' : ` ${code}`}`, ms: answer.ms });
  }
  return slowest(refusals);
}

/** The same call with arguments that differ is answered, at each surface. */
async function assertEchoes(
  { port }: Attacked,
  more: object,
  { headers = {}, paths = surfaces }: { headers?: Record<string, string>; paths?: readonly string[] } = {},
): Promise<void> {
  for (const path of paths) {
    const session = await openSession(port, path);
    const call = { ...echoOf(path, 'fine') } as { params: { arguments: object } };
    const params = { ...call.params, arguments: { ...call.params.arguments, ...more } };
    const answer = await send(port, path, { ...call, params }, { ...session, ...headers });
    assert.equal(answer.json?.result?.content?.[0]?.text, 'fine', `${path}: ${answer.text.slice(0, 300)}`);
  }
}

/** Other limits and nothing else: what was refused is served. */
const loose = new WeakMap<Place, Promise<Attacked>>();
function looseRouter(place: Place): Promise<Attacked> {
  const limits = 'bodyBytes=1000000000,jsonDepth=1000000,jsonMembers=10000000,batch=1000000';
  const known = loose.get(place) ?? place.startRouter(['--limits', limits]);
  loose.set(place, known);
  return known;
}

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

function headOf(path: string, port: number, session: Record<string, string>, length: string): string {
  const headers = { Host: `127.0.0.1:${port}`, ...jsonHeaders, ...session };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`POST ${path} HTTP/1.1`, ...lines, length, '', ''].join('\r\n');
}

/** 10 GiB, if somebody took it; says how the router made it stop. */
async function stream(place: Place, length: string, chunk: Buffer, mostBytes: number): Promise<Refusal> {
  const { port } = place.router;
  const refusals: Refusal[] = [];
  for (const path of surfaces) {
    const session = await openSession(port, path);
    const answer = await sendEndless(port, headOf(path, port, session, length), chunk, 10 * gibibyte);
    assert.deepEqual(answer.statuses, [413], `${path}: ${answer.text.slice(0, 300)}`);
    assert.ok(answer.sent < mostBytes, `${path}: ${answer.sent} bytes went out`);
    refusals.push({ answer: '413', ms: answer.ms });
  }
  return slowest(refusals);
}

const chunkBytes = 64 * 1024;
const chunk = Buffer.concat([
  Buffer.from(`${chunkBytes.toString(16)}\r\n`),
  Buffer.alloc(chunkBytes, ' '),
  Buffer.from('\r\n'),
]);

const streamed: readonly HostileCase[] = [
  {
    name: 'a body of 10 GiB in chunks',
    attack: (place) => stream(place, 'Transfer-Encoding: chunked', chunk, 64 * mebibyte),
    async control(place) {
      await assertEchoes(place.router, { more: 'x'.repeat(3 * mebibyte) });
      return '3 MiB are served';
    },
  },
  {
    name: 'a body that says it has 10 GiB',
    attack: (place) =>
      stream(place, `Content-Length: ${10 * gibibyte}`, Buffer.alloc(chunkBytes, ' '), 16 * mebibyte),
    async control(place) {
      await assertEchoes(await looseRouter(place), { more: 'x'.repeat(12 * mebibyte) }, { paths: ['/mcp'] });
      return '12 MiB are served where the limit allows them';
    },
  },
];

const shapes: readonly HostileCase[] = [
  {
    name: 'a million levels of lists',
    attack: (place) =>
      refuseBody(place, `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`, { status: 400, code: -32600 }),
    async control(place) {
      await assertEchoes(place.router, { deep: nested(50) });
      const { port } = await looseRouter(place);
      const session = await openSession(port, surfaces[0]);
      const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
      const text = JSON.stringify(callOf('x')).replace('"text":"x"', `"text":${deep}`);
      const { json } = await send(port, surfaces[0], text, session);
      assert.equal(json?.error?.code, -32603);
      return '50 levels are served; 100,000 overflow the stack where the limit allows them';
    },
  },
  {
    name: 'a million levels of objects',
    attack: (place) =>
      refuseBody(place, `${'{"a":'.repeat(1_000_000)}1${'}'.repeat(1_000_000)}`, { status: 413 }),
    async control(place) {
      await assertEchoes(await looseRouter(place), { more: 'x'.repeat(6 * mebibyte) }, { paths: ['/mcp'] });
      return 'as many bytes are served where the limit allows them';
    },
  },
  {
    name: 'as many levels of objects as fit into a body',
    attack: (place) =>
      refuseBody(place, `${'{"a":'.repeat(650_000)}1${'}'.repeat(650_000)}`, { status: 400, code: -32600 }),
    async control(place) {
      await assertEchoes(place.router, { deep: JSON.parse(`${'{"a":'.repeat(50)}1${'}'.repeat(50)}`) });
      return '50 levels are served';
    },
  },
  {
    name: 'a million keys',
    attack: (place) => refuseBody(place, keysText(1_000_000), { status: 413 }),
    async control(place) {
      await assertEchoes(await looseRouter(place), { more: 'x'.repeat(9 * mebibyte) }, { paths: ['/mcp'] });
      return 'as many bytes are served where the limit allows them';
    },
  },
  {
    name: 'as many keys as fit into a body',
    attack: (place) => refuseBody(place, keysText(400_000), { status: 400, code: -32600 }),
    async control(place) {
      await assertEchoes(place.router, JSON.parse(keysText(90_000)));
      const { port } = await looseRouter(place);
      const session = await openSession(port, surfaces[0]);
      const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":${keysText(300_000)}}}`;
      const served = await send(port, surfaces[0], text, session);
      assert.equal(served.status, 200, served.text.slice(0, 300));
      return '90,000 are served, and 300,000 where the limit allows them';
    },
  },
  {
    name: 'a batch of 100,000 calls',
    attack: (place) =>
      refuseBody(place, `[${Array(100_000).fill('{"jsonrpc":"2.0","id":1,"method":"ping"}').join()}]`, {
        status: 400,
        code: -32600,
      }),
    async control(place) {
      const session = await openSession(place.router.port, '/mcp');
      const batch = [1, 2, 3].map((id) => echoOf('/mcp', `n${id}`, id));
      const answer = await send(place.router.port, '/mcp', batch, session);
      assert.equal(answer.json?.length, 3, answer.text.slice(0, 300));
      return 'a batch of three is served';
    },
  },
  {
    name: 'a string of 100 MB',
    attack: (place) => refuseBody(place, JSON.stringify(callOf('x'.repeat(100_000_000))), { status: 413 }),
    async control(place) {
      await assertEchoes(place.router, { more: 'x'.repeat(3_000_000) });
      return 'one of 3 MB is served';
    },
  },
];

function keysText(count: number): string {
  const keys = Array.from({ length: count }, (_, index) => `"${index.toString(36)}":1`);
  return `{${keys.join()}}`;
}

const polluted = '{"polluted":"yes"}';
/** Keys that every object has, wherever a message has keys. */
const prototypes: readonly string[] = [
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","__proto__":${polluted},"params":{"name":"echo","agent":"honest","__proto__":${polluted},"arguments":{"text":"fine","__proto__":${polluted},"constructor":{"prototype":${polluted}}}}}`,
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","agent":"honest","_meta":{"__proto__":${polluted},"constructor":{"prototype":${polluted}}},"arguments":{"text":"fine"}}}`,
];

const keys: readonly HostileCase[] = [
  {
    name: 'keys __proto__ and constructor everywhere',
    async attack(place) {
      const { port } = place.router;
      const refusals: Refusal[] = [];
      for (const path of surfaces) {
        const session = await openSession(port, path);
        for (const body of prototypes) {
          const answer = await send(port, path, body, session);
          assert.equal(answer.json?.result?.content?.[0]?.text, 'fine', answer.text.slice(0, 300));
          refusals.push({ answer: 'served as data', ms: answer.ms });
        }
      }
      for (const command of ['__proto__', 'constructor', 'toString'])
        assert.equal((await send(port, '/mcp', { command })).status, 400);
      for (const path of ['__proto__', 'constructor', '..%2f', '%2e%2e'])
        for (const under of ['mcps', 'apis']) {
          const { status } = await send(port, `/${under}/${path}/mcp`, '{}');
          assert.ok(status >= 400 && status < 500, `/${under}/${path}/mcp: ${status}`);
        }
      // A polluted prototype would put the key into every object: into each answer that is made anew.
      const answer = await send(port, '/mcp', { command: 'list_tools' });
      assert.doesNotMatch(answer.text, /polluted/);
      const health = await (await fetch(`http://127.0.0.1:${port}/health`)).text();
      assert.doesNotMatch(health, /polluted/);
      return slowest(refusals);
    },
    async control() {
      const merge = (into: Record<string, unknown>, from: Record<string, unknown>): void => {
        for (const [key, value] of Object.entries(from))
          if (typeof value === 'object' && value !== null) {
            into[key] ??= {};
            merge(into[key] as Record<string, unknown>, value as Record<string, unknown>);
          } else into[key] = value;
      };
      merge({}, JSON.parse(prototypes[0] ?? ''));
      const found = ({} as Record<string, unknown>)['polluted'];
      delete (Object.prototype as Record<string, unknown>)['polluted'];
      assert.equal(found, 'yes');
      return 'a plain deep merge of this body pollutes every object';
    },
  },
];

const packers = {
  gzip: (bytes: Buffer) => gzipSync(bytes),
  deflate: (bytes: Buffer) => deflateSync(bytes),
  br: (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  zstd: (bytes: Buffer) => zstdCompressSync(bytes),
};

const bombs: readonly HostileCase[] = Object.entries(packers).map(([encoding, pack]) => ({
  name: `a bomb in ${encoding}`,
  async attack(place) {
    const text = JSON.stringify(callOf('x'.repeat(64 * mebibyte)));
    const bomb = pack(Buffer.from(text));
    assert.ok(bomb.length * 100 < text.length, `${bomb.length} bytes are no bomb`);
    const refused = await refuseBody(place, bomb, { status: 415 }, { 'content-encoding': encoding });
    // An agent's own API gets the bytes as they are: who unpacks them is its business.
    const passed = await send(place.router.port, '/apis/honest/data', bomb.subarray(0, 100_000), {
      'content-encoding': encoding,
    });
    assert.equal(passed.status, 200);
    assert.equal(passed.json.headers['content-encoding'], encoding);
    return refused;
  },
  async control(place) {
    await assertEchoes(place.router, {}, { headers: { 'content-encoding': 'identity' } });
    return 'the same call without compression is served';
  },
}));

export const bodies: readonly HostileCase[] = [...streamed, ...shapes, ...keys, ...bombs];

/** After all of them. */
export async function assertStillServes(place: Place): Promise<void> {
  for (const path of surfaces.slice(0, 2)) await assertServes(place.router.port, path);
}
