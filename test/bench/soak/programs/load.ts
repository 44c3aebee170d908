/**
 * The soak's clients: sessions of 2025-11-25 that can be asked, so that each has an upstream session of its own. Obeys
 * one order after the other on its channel and checks every answer.
 */
import { type HttpAnswer, headerOf, jsonText } from '../../load/answer-reader.ts';
import { HttpConnection } from '../../load/http-connection.ts';
import type { FromSoakLoad, SoakLoadDone, SoakLoadOrder } from '../order.ts';

interface Session {
  readonly path: string;
  /** Lines of its requests' heads. */
  readonly head: string;
  readonly name: string;
  stream: HttpConnection | undefined;
}

interface Lane {
  connection: HttpConnection;
  readonly sessions: Session[];
}

const revision = '2025-11-25';
const common = 'content-type: application/json\r\naccept: application/json, text/event-stream\r\n';
const lanes: Lane[] = [];
let port = 0;
let serial = 0;
let failures: string[] = [];

async function exchange(lane: Lane, session: Session, method: string, message: object | undefined) {
  if (lane.connection.closed) lane.connection = await HttpConnection.open(port);
  const body = message === undefined ? '' : JSON.stringify(message);
  return lane.connection.exchange(method, session.path, session.head, body);
}

async function openSession(lane: Lane, path: string, withStream: boolean): Promise<void> {
  serial += 1;
  const name = `soak-${serial}`;
  const params = {
    protocolVersion: revision,
    capabilities: { elicitation: {}, sampling: {} },
    clientInfo: { name, version: '1' },
  };
  const first = { path, head: common, name, stream: undefined };
  const answer = await exchange(lane, first, 'POST', {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params,
  });
  const id = headerOf(answer.head, 'mcp-session-id');
  if (answer.status !== 200 || id === undefined) throw new Error(`initialize: ${textOf(answer)}`);
  const head = `${common}mcp-session-id: ${id}\r\nmcp-protocol-version: ${revision}\r\n`;
  const session: Session = { path, head, name, stream: undefined };
  await exchange(lane, session, 'POST', { jsonrpc: '2.0', method: 'notifications/initialized' });
  if (withStream) {
    session.stream = await HttpConnection.open(port);
    const get = head.replace(common, 'accept: text/event-stream\r\n');
    // Its answer has no end before the stream has.
    session.stream.exchange('GET', path, get).catch(() => undefined);
  }
  lane.sessions.push(session);
}

/** One call; what is wrong with its answer is kept. */
async function call(lane: Lane, session: Session): Promise<void> {
  serial += 1;
  const id = serial;
  const text = `${session.name} ${id}`;
  const params = { name: 'echo', arguments: { text } };
  const answer = await exchange(lane, session, 'POST', { jsonrpc: '2.0', id, method: 'tools/call', params });
  const json = jsonText(answer);
  const right = answer.status === 200 && json.includes(`"id":${id}`) && json.includes(`"text":"${text}"`);
  if (!right) throw new Error(`a wrong answer to ${text}: ${textOf(answer)}`);
}

function textOf({ status, body }: HttpAnswer): string {
  return `${status} ${body.slice(0, 300)}`;
}

/** What fails is counted, and the lane goes on. */
async function attempt(work: () => Promise<void>): Promise<number> {
  try {
    await work();
    return 1;
  } catch (error) {
    failures.push(error instanceof Error ? error.message : String(error));
    return 0;
  }
}

async function inLanes(work: (lane: Lane, index: number) => Promise<number>): Promise<number> {
  const done = await Promise.all(lanes.map(work));
  return done.reduce((sum, one) => sum + one, 0);
}

async function open({ sessions, paths, streamEvery }: Extract<SoakLoadOrder, { type: 'open' }>) {
  let left = sessions;
  return inLanes(async (lane) => {
    let done = 0;
    while (left > 0) {
      left -= 1;
      const path = paths[left % paths.length] ?? '/mcp';
      const withStream = left % streamEvery === 0;
      done += await attempt(async () => {
        await openSession(lane, path, withStream);
        const session = lane.sessions.at(-1);
        if (session !== undefined) await call(lane, session);
      });
    }
    return done;
  });
}

function callAll({ each }: Extract<SoakLoadOrder, { type: 'call' }>): Promise<number> {
  return inLanes(async (lane) => {
    let done = 0;
    for (let round = 0; round < each; round += 1) {
      for (const session of lane.sessions) done += await attempt(() => call(lane, session));
    }
    return done;
  });
}

/** Every second session is ended by its client, the others are left. */
function endAll(): Promise<number> {
  return inLanes(async (lane) => {
    let ended = 0;
    for (const [index, session] of lane.sessions.splice(0).entries()) {
      session.stream?.close();
      if (index % 2 === 1) continue;
      ended += await attempt(async () => {
        const answer = await exchange(lane, session, 'DELETE', undefined);
        if (answer.status !== 204) throw new Error(`DELETE: ${textOf(answer)}`);
      });
    }
    return ended;
  });
}

async function connect({ connections, ...order }: Extract<SoakLoadOrder, { type: 'connect' }>) {
  port = order.port;
  for (let index = 0; index < connections; index += 1) {
    lanes.push({ connection: await HttpConnection.open(port), sessions: [] });
  }
  return connections;
}

function disconnect(): number {
  const gone = lanes.splice(0);
  for (const { connection } of gone) connection.close();
  return gone.length;
}

async function obey(order: SoakLoadOrder): Promise<SoakLoadDone> {
  failures = [];
  const begun = performance.now();
  const work = { connect, open, call: callAll, end: endAll, disconnect } as const;
  const done = await (work[order.type] as (order: SoakLoadOrder) => Promise<number> | number)(order);
  return {
    done,
    seconds: (performance.now() - begun) / 1000,
    failed: failures.length,
    failures: failures.slice(0, 5),
  };
}

process.on('message', (order: SoakLoadOrder) => {
  const answer = (message: FromSoakLoad) => process.send?.(message);
  obey(order).then(
    (outcome) => answer({ outcome }),
    (error: unknown) => answer({ error: error instanceof Error ? error.message : String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
