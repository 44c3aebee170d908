import type { ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Params } from '#mcp/jsonrpc.ts';
import { nestsDeeper } from '#mcp/parse.ts';
import type { Result } from '#mcp/results.ts';
import { defaultSettings } from '../config/settings.ts';
import { AgentServerError } from '../errors.ts';
import { endChild, startChild } from '../process/child-command.ts';
import { killedRemedy } from '../process/killed.ts';
import { readLines } from '../spawner/lines.ts';
import type { ConnectionEvents, ListenFor, UpstreamCall, UpstreamInfo } from './connection.ts';
import { discover, isStateless, shakeHands, withEnvelope } from './handshake.ts';
import { createListener, type Listener } from './listener.ts';
import { createPeer, type Peer } from './peer.ts';
import type { AnswerQuestion } from './session-clients.ts';
import { createSessionMemory, type SessionMemory } from './session-memory.ts';

export interface StdioOptions {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds for the handshake. */
  readonly startMs: number;
  /** Milliseconds between SIGTERM and SIGKILL when it is to end. */
  readonly graceMs: number;
  /** Bytes of one message; a longer one ends the connection. */
  readonly maxMessageBytes: number;
  /** Levels of nesting of one message; a deeper one ends the connection. Default: as the settings have it. */
  readonly maxDepth?: number;
}

/** How a process is opened. */
export interface Opening {
  readonly events: ConnectionEvents;
  readonly signal: AbortSignal;
  /** `any`: with sessions if it has them. */
  readonly era: 'any' | 'stateless';
  /** Declared to a server with sessions. Default: nothing. */
  readonly capabilities?: Readonly<Record<string, unknown>>;
  readonly answer?: AnswerQuestion;
  /** What a process before it was told, which it is told again. */
  readonly memory?: SessionMemory;
}

/** One process of an MCP server that speaks on stdin and stdout, after its handshake. */
export interface StdioProcess {
  readonly info: UpstreamInfo;
  readonly closed: Promise<string>;
  readonly memory: SessionMemory;
  /** Of a server of 2026-07-28. */
  readonly listener: Listener | undefined;
  request(method: string, params: Params, call: UpstreamCall): Promise<Result>;
  /** As UpstreamConnection.listen, of a server of 2026-07-28. */
  readonly listen: ListenFor;
  close(): Promise<void>;
}

/** Starts one; its stderr goes to the log. Rejects when it ends or does not speak MCP. */
export async function startStdioProcess(options: StdioOptions, opening: Opening): Promise<StdioProcess> {
  const child = startChild({ ...options, stdio: ['pipe', 'pipe', 'pipe'] });
  const { promise: closed, resolve: markClosed } = Promise.withResolvers<string>();
  void endOf(child).then(markClosed);
  const peer = connectPeer(child, opening, options, (reason) => {
    markClosed(reason);
    child.kill('SIGKILL');
  });
  let wasThere = false;
  void closed.then((reason) => peer.fail(lost(reason, wasThere)));
  const close = () => endChild(child, options.clock, options.graceMs);
  try {
    const info = await handshake(peer, opening, options.startMs);
    wasThere = true;
    const listener = isStateless(info) ? listenBy(peer, opening.events, options.clock) : undefined;
    void closed.then(() => listener?.close());
    const memory = opening.memory ?? createSessionMemory();
    const request = isStateless(info)
      ? (method: string, params: Params, call: UpstreamCall) =>
          peer.request(method, withEnvelope(params, call.context), call)
      : requestInSession(peer, info, memory);
    return {
      info,
      closed,
      memory,
      listener,
      request,
      listen: (params, context, onStreamed, signal) =>
        peer.listen(withEnvelope(params, context), onStreamed, signal),
      async close() {
        listener?.close();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function handshake(peer: Peer, opening: Opening, timeoutMs: number): Promise<UpstreamInfo> {
  const call = { signal: opening.signal, timeoutMs, context: undefined };
  const ask = (method: string, params: Params) => peer.request(method, params, call);
  if (opening.era === 'stateless') return discover(ask);
  return shakeHands(ask, () => peer.notify('notifications/initialized'), opening.capabilities);
}

/** Requests to a server with sessions, which tells at least what their clients want to hear. */
function requestInSession(
  peer: Peer,
  { capabilities }: UpstreamInfo,
  memory: SessionMemory,
): StdioProcess['request'] {
  const logs = capabilities['logging'] !== undefined;
  async function remember(method: string, params: Params, call: UpstreamCall): Promise<Result> {
    const result = await peer.request(method, params, call);
    memory.note(method, params);
    return result;
  }
  async function setLevel(level: string, call: UpstreamCall): Promise<void> {
    const silent = { ...call, context: undefined };
    await peer.request('logging/setLevel', { level }, silent).catch(() => undefined);
    memory.note('logging/setLevel', { level });
  }
  return (method, params, call) => {
    const level = logs ? memory.levelFor(call.context?.logLevel) : undefined;
    const send = () => (method.startsWith('resources/') ? remember : peer.request)(method, params, call);
    return level !== undefined ? setLevel(level, call).then(send) : send();
  };
}

function listenBy(peer: Peer, { onNotification }: ConnectionEvents, clock: Clock): Listener {
  return createListener({
    clock,
    onNotification,
    listen: (params, onStreamed, signal) => peer.listen(withEnvelope(params), onStreamed, signal),
  });
}

function connectPeer(
  child: ChildProcess,
  { events, answer }: Opening,
  options: StdioOptions,
  giveUp: (reason: string) => void,
): Peer {
  const { stdin, stdout, stderr } = child as ChildProcess & {
    stdin: Writable;
    stdout: Readable;
    stderr: Readable;
  };
  stdin.on('error', () => undefined);
  const peer = createPeer({
    clock: options.clock,
    send: (message) => void (stdin.writable && stdin.write(`${JSON.stringify(message)}\n`)),
    onNotification: events.onNotification,
    ...(answer !== undefined && { answer }),
  });
  const { maxDepth = defaultSettings.maxUpstreamDepth } = options;
  const takeLine = (line: Buffer) => {
    const text = line.toString('utf8');
    if (nestsDeeper(text, maxDepth)) {
      giveUp(`it wrote a message that nests deeper than ${maxDepth} levels`);
      return;
    }
    const message = parseLine(text);
    if (message === undefined)
      options.log.warn('The MCP server wrote something that is not JSON-RPC', { line: shown(line) });
    else peer.receive(message);
  };
  readLines(stdout, options.maxMessageBytes, takeLine, () =>
    giveUp(`it wrote a message larger than ${options.maxMessageBytes} bytes`),
  );
  readLines(stderr, 64 * 1024, (line) => options.log.info('MCP server', { stderr: shown(line) }));
  return peer;
}

function parseLine(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function shown(line: Buffer): string {
  return line.toString('utf8', 0, 2000).trimEnd();
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(`it cannot be started: ${error.message}`));
    child.once('exit', (code, signal) => {
      if (signal === 'SIGKILL') resolve(`it was ${killedRemedy}`);
      else resolve(signal === null ? `it ended with exit code ${code}` : `it was ended by ${signal}`);
    });
  });
}

function lost(reason: string, wasThere: boolean): AgentServerError {
  const what = wasThere ? 'is gone' : 'did not come up';
  return new AgentServerError('UpstreamLost', `The MCP server of this agent ${what}: ${reason}`);
}
