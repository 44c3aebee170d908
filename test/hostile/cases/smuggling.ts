import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type HostileCase, type Refusal, slowest } from '../case.ts';
import { assertServes, echoOf, openSession, surfaces } from '../client.ts';
import type { Attacked, Place } from '../place.ts';
import { type RawAnswer, sendRaw } from '../raw.ts';

/** What a payload is made of: a path of the router and requests that carry a mark of their own. */
interface Parts {
  readonly path: string;
  readonly host: string;
  /** Lines of the session's headers, each with its end. */
  readonly session: string;
  /** The JSON of a call whose text is this mark. */
  readonly call: (mark: string) => string;
  /** A whole request that is to stay hidden in another's body. */
  readonly hidden: string;
}

interface Payload {
  readonly bytes: (parts: Parts) => string;
  /** That it may be refused with. Default: 400. */
  readonly statuses?: readonly number[];
  /** Nothing is ambiguous about where it ends: it hides no other, and its connection may serve on. */
  readonly isFramed?: boolean;
}

const outerMark = 'the outer request';

function head({ path, host, session }: Parts, lines: readonly string[]): string {
  const own = ['content-type: application/json', 'accept: application/json, text/event-stream'];
  return `POST ${path} HTTP/1.1\r\nHost: ${host}\r\n${session}${[...own, ...lines].join('\r\n')}\r\n\r\n`;
}

function chunked(body: string, size = body.length.toString(16), extension = ''): string {
  return `${size}${extension}\r\n${body}\r\n0\r\n\r\n`;
}

/** The hidden request behind the end of a chunked body, with a Content-Length over both. */
function clTe(parts: Parts, ...te: string[]): string {
  const body = chunked(parts.call(outerMark)) + parts.hidden;
  return head(parts, [`Content-Length: ${body.length}`, ...te]) + body;
}

/** A request that is wrong in other ways. */
function framed(parts: Parts, ...lines: string[]): string {
  return head(parts, [`Content-Length: ${lengthOf(parts)}`, ...lines]) + parts.call(outerMark);
}

/** Only Transfer-Encoding, as a server must see it that takes none of its spellings for chunked. */
function te(parts: Parts, ...lines: string[]): string {
  return head(parts, lines) + chunked(parts.call(outerMark)) + parts.hidden;
}

/** A Content-Length that some read as the outer body's and others as 0, with the hidden request behind. */
function cl(parts: Parts, ...lines: string[]): string {
  return head(parts, lines) + parts.call(outerMark) + parts.hidden;
}

function lengthOf(parts: Parts): number {
  return parts.call(outerMark).length;
}

const payloads: Record<string, Payload> = {
  'CL.TE': { bytes: (parts) => clTe(parts, 'Transfer-Encoding: chunked') },
  'TE.CL': {
    bytes: (parts) => {
      const body = chunked(parts.call(outerMark) + parts.hidden);
      return head(parts, ['Transfer-Encoding: chunked', `Content-Length: ${lengthOf(parts)}`]) + body;
    },
  },
  'TE.TE twice, the second unknown': {
    bytes: (parts) => te(parts, 'Transfer-Encoding: chunked', 'Transfer-Encoding: x'),
  },
  'TE.TE chunked, identity': { bytes: (parts) => te(parts, 'Transfer-Encoding: chunked, identity') },
  'TE xchunked': { bytes: (parts) => te(parts, 'Transfer-Encoding: xchunked') },
  'TE gzip': { bytes: (parts) => te(parts, 'Transfer-Encoding: gzip') },
  'TE with a space before its colon': { bytes: (parts) => clTe(parts, 'Transfer-Encoding : chunked') },
  'TE behind a tab in its name': { bytes: (parts) => clTe(parts, 'Transfer-Encoding\t: chunked') },
  'TE with a vertical tab': { bytes: (parts) => te(parts, 'Transfer-Encoding: \u000bchunked') },
  'TE in quotes': { bytes: (parts) => te(parts, 'Transfer-Encoding: "chunked"') },
  'TE folded over two lines': { bytes: (parts) => clTe(parts, 'Transfer-Encoding:\r\n chunked') },
  'TE behind a bare LF': { bytes: (parts) => clTe(parts, 'X: a\nTransfer-Encoding: chunked') },
  'TE behind a bare CR': { bytes: (parts) => clTe(parts, 'X: a\rTransfer-Encoding: chunked') },
  'TE behind a NUL': { bytes: (parts) => clTe(parts, 'X: a\u0000\r\nTransfer-Encoding: chunked') },
  'TE of HTTP/1.0': {
    bytes: (parts) => clTe(parts, 'Transfer-Encoding: chunked').replace('HTTP/1.1', 'HTTP/1.0'),
  },
  'CL twice, different': {
    bytes: (parts) => cl(parts, `Content-Length: ${lengthOf(parts)}`, 'Content-Length: 0'),
  },
  'CL twice, the same': {
    bytes: (parts) => cl(parts, `Content-Length: ${lengthOf(parts)}`, `Content-Length: ${lengthOf(parts)}`),
  },
  'CL as a list': { bytes: (parts) => cl(parts, `Content-Length: ${lengthOf(parts)}, 0`) },
  'CL with a sign': { bytes: (parts) => cl(parts, `Content-Length: +${lengthOf(parts)}`) },
  'CL negative': { bytes: (parts) => cl(parts, 'Content-Length: -1') },
  'CL in hex': { bytes: (parts) => cl(parts, `Content-Length: 0x${lengthOf(parts).toString(16)}`) },
  'CL with letters behind it': { bytes: (parts) => cl(parts, `Content-Length: ${lengthOf(parts)}abc`) },
  'CL too large for a number': { bytes: (parts) => cl(parts, `Content-Length: ${'9'.repeat(30)}`) },
  'CL with a space in it': { bytes: (parts) => cl(parts, 'Content-Length: 1 0') },
  'CL empty': { bytes: (parts) => cl(parts, 'Content-Length: ') },
  'CL with a space before its colon': {
    bytes: (parts) => cl(parts, `Content-Length : ${lengthOf(parts)}`),
  },
  'chunk size in 0x': {
    bytes: (parts) =>
      head(parts, ['Transfer-Encoding: chunked']) +
      chunked(parts.call(outerMark), `0x${lengthOf(parts).toString(16)}`),
  },
  'chunk size with a space': {
    bytes: (parts) =>
      head(parts, ['Transfer-Encoding: chunked']) +
      chunked(parts.call(outerMark), `${lengthOf(parts).toString(16)} `),
  },
  'chunk size that overflows': {
    bytes: (parts) =>
      head(parts, ['Transfer-Encoding: chunked']) + chunked(parts.call(outerMark), `1${'0'.repeat(16)}5`),
  },
  'chunk size negative': {
    bytes: (parts) => head(parts, ['Transfer-Encoding: chunked']) + chunked(parts.call(outerMark), '-5'),
  },
  'chunk data longer than its size': {
    bytes: (parts) =>
      head(parts, ['Transfer-Encoding: chunked']) +
      `5\r\n${parts.call(outerMark)}\r\n0\r\n\r\n${parts.hidden}`,
  },
  'chunks ended by bare LF': {
    bytes: (parts) =>
      head(parts, ['Transfer-Encoding: chunked']) +
      chunked(parts.call(outerMark)).replaceAll('\r\n', '\n') +
      parts.hidden,
  },
  'chunk extension with a bare LF': {
    bytes: (parts) =>
      head(parts, ['Transfer-Encoding: chunked']) +
      chunked(parts.call(outerMark), undefined, ';a\nb') +
      parts.hidden,
  },
  'chunk extension of a megabyte': {
    bytes: (parts) =>
      head(parts, ['Transfer-Encoding: chunked']) +
      chunked(parts.call(outerMark), undefined, `;${'a'.repeat(1_000_000)}`),
    statuses: [400, 413],
  },
  'lines ended by bare LF': {
    bytes: (parts) =>
      head(parts, [`Content-Length: ${lengthOf(parts)}`]).replaceAll('\r\n', '\n') +
      parts.call(outerMark) +
      parts.hidden,
  },
  'a header folded over two lines': {
    bytes: (parts) => cl(parts, `Content-Length: ${lengthOf(parts)}`, 'X: a\r\n b'),
  },
  'a header without a name': { bytes: (parts) => cl(parts, `Content-Length: ${lengthOf(parts)}`, ': a') },
  'a header without a colon': { bytes: (parts) => cl(parts, `Content-Length: ${lengthOf(parts)}`, 'X') },
  'a space before the first header': {
    bytes: (parts) =>
      cl(parts, `Content-Length: ${lengthOf(parts)}`).replace(
        '\r\nHost',
        '\r\n Transfer-Encoding: x\r\nHost',
      ),
  },
  'a space in the path': {
    bytes: (parts) => cl({ ...parts, path: `${parts.path} x` }, `Content-Length: ${lengthOf(parts)}`),
  },
  'a line break in the path': {
    bytes: (parts) => cl({ ...parts, path: `${parts.path}\rX:` }, `Content-Length: ${lengthOf(parts)}`),
  },
  'no Host': {
    bytes: (parts) => framed(parts).replace(/Host: .*?\r\n/, ''),
    isFramed: true,
  },
  'two Hosts': {
    bytes: (parts) => framed(parts, 'Host: evil.example'),
    statuses: [400, 403],
    isFramed: true,
  },
  'absolute-form': {
    bytes: (parts) => framed({ ...parts, path: `http://evil.example${parts.path}` }),
    statuses: [400, 403, 404],
    isFramed: true,
  },
  'authority-form': {
    bytes: (parts) => cl(parts, `Content-Length: ${lengthOf(parts)}`).replace(/^POST \S+/, 'CONNECT a:1'),
    statuses: [400, 403, 404, 405],
  },
  'the preface of HTTP/2': {
    bytes: (parts) => `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${parts.hidden}`,
  },
  'requests behind an Upgrade': {
    bytes: (parts) =>
      head(parts, ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk']) +
      parts.hidden,
    statuses: [400, 501],
  },
};

async function partsFor(port: number, path: string): Promise<Parts & { readonly mark: string }> {
  const session = Object.entries(await openSession(port, path)).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const mark = `hidden-${randomBytes(6).toString('hex')}`;
  const call = (text: string) => JSON.stringify(echoOf(path, text));
  const own = { path, host: `127.0.0.1:${port}`, session: session.join(''), call, hidden: '', mark };
  const body = call(mark);
  return { ...own, hidden: head(own, [`Content-Length: ${body.length}`, 'Connection: close']) + body };
}

interface Outcome {
  readonly answer: RawAnswer;
  /** The hidden request reached the agent. */
  readonly came: boolean;
}

async function attempt(
  place: Place,
  port: number,
  path: string,
  bytes: Payload['bytes'],
  patienceMs?: number,
): Promise<Outcome> {
  const parts = await partsFor(port, path);
  const answer = await sendRaw(port, bytes(parts), { patienceMs });
  // Whatever the router made of it has reached the agent by the time that a later call has.
  await assertServes(port, path);
  const came = (await place.seen()).some((line) => line.includes(parts.mark));
  return { answer, came };
}

function judge(path: string, { answer, came }: Outcome, { statuses = [400], isFramed }: Payload): Refusal {
  const [status] = answer.statuses;
  assert.equal(came, false, `${path}: the hidden request reached the agent`);
  assert.ok(answer.statuses.length <= 1, `${path}: answers ${answer.statuses.join()}`);
  // A connection that is closed without a word is a refusal as well.
  const isRefused = status === undefined ? answer.ended === 'closed' : statuses.includes(status);
  assert.ok(isRefused, `${path}: ${answer.text.slice(0, 300)}`);
  if (isFramed !== true) assert.equal(answer.ended, 'closed', `${path}: the connection stays open`);
  return { answer: String(status ?? 'closed'), ms: answer.ms };
}

/** The router with a parser that takes what HTTP forbids: the only thing that changes is the defence. */
const lenientRouters = new WeakMap<Place, Promise<Attacked>>();
function lenientRouter(place: Place): Promise<Attacked> {
  const known = lenientRouters.get(place) ?? place.startRouter([], ['--insecure-http-parser']);
  lenientRouters.set(place, known);
  return known;
}

async function control(place: Place, bytes: Payload['bytes']): Promise<string> {
  const [path] = surfaces;
  const { port } = await lenientRouter(place);
  const lenient = await attempt(place, port, path, bytes, 700);
  if (lenient.came) return 'a lenient parser serves the hidden request';
  if (lenient.answer.statuses[0] === 200) return 'a lenient parser serves it';
  const plain = await attempt(place, place.router.port, path, (parts) => framed(parts) + parts.hidden);
  assert.deepEqual([plain.answer.statuses, plain.came], [[200, 200], true]);
  return 'without it both requests are served';
}

/** To one agent behind its agent-server, and to several. */
const tried = surfaces.slice(1);

/** Bytes whose end two parsers see in different places; or that are no request at all. */
export const smuggling: readonly HostileCase[] = Object.entries(payloads).map(([name, payload]) => ({
  name: `smuggling: ${name}`,
  async attack(place) {
    const refusals: Refusal[] = [];
    for (const path of tried) {
      const outcome = await attempt(place, place.router.port, path, payload.bytes);
      refusals.push(judge(path, outcome, payload));
    }
    return slowest(refusals);
  },
  control: (place) => control(place, payload.bytes),
}));
