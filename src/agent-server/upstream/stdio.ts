import type { ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import { AgentServerError } from '../errors.ts';
import { endChild, startChild } from '../process/child-command.ts';
import { readLines } from '../spawner/lines.ts';
import type { ConnectionEvents, OpenConnection, UpstreamConnection } from './connection.ts';
import { isStateless, shakeHands, withEnvelope } from './handshake.ts';
import { createPeer, type Peer } from './peer.ts';

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
}

/** An MCP server as a child process that speaks on stdin and stdout; its stderr goes to the log. */
export function stdioConnector(options: StdioOptions): OpenConnection {
  return async (events, signal) => {
    const child = startChild({ ...options, stdio: ['pipe', 'pipe', 'pipe'] });
    const { promise: closed, resolve: markClosed } = Promise.withResolvers<string>();
    void endOf(child).then(markClosed);
    const peer = connectPeer(child, events, options, (reason) => {
      markClosed(reason);
      child.kill('SIGKILL');
    });
    void closed.then((reason) => peer.fail(lost(reason)));
    const call = { signal, timeoutMs: options.startMs, context: undefined };
    const close = () => endChild(child, options.clock, options.graceMs);
    try {
      const info = await shakeHands(
        (method, params) => peer.request(method, params, call),
        () => peer.notify('notifications/initialized'),
      );
      const connection: UpstreamConnection = {
        info,
        closed,
        close,
        request: (method, params, upstreamCall) =>
          peer.request(method, isStateless(info) ? withEnvelope(params) : params, upstreamCall),
      };
      return connection;
    } catch (error) {
      await close();
      throw error;
    }
  };
}

function connectPeer(
  child: ChildProcess,
  events: ConnectionEvents,
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
  });
  const takeLine = (line: Buffer) => {
    const message = parseLine(line);
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

function parseLine(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
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
      resolve(signal === null ? `it ended with exit code ${code}` : `it was ended by ${signal}`);
    });
  });
}

function lost(reason: string): AgentServerError {
  return new AgentServerError('UpstreamLost', `The MCP server of this agent is gone: ${reason}`);
}
