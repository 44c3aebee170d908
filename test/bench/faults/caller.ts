import { setTimeout as sleep } from 'node:timers/promises';
import { type HttpAnswer, headerOf, jsonText } from '../load/answer-reader.ts';
import { ConnectionLost, HttpConnection } from '../load/http-connection.ts';

/** What happened to the calls of many clients. */
export class Tally {
  done = 0;
  /** Requests that were sent again because their connection was refused. */
  refused = 0;
  /** … or was closed before anything of an answer came. */
  resent = 0;
  /** Calls that were under way when their router was killed; where lost calls are not sent again. */
  lost = 0;
  slowestMs = 0;
  /** Told the milliseconds of each. */
  onAnswer: ((ms: number) => void) | undefined;
  readonly failures: string[] = [];
}

export interface CallerOptions {
  readonly port: number;
  readonly path: string;
  readonly tally: Tally;
  /** Whether what was lost before its answer began is sent again. */
  readonly resend: boolean;
  /** A connection for each call. */
  readonly alwaysNew?: boolean;
}

const revision = '2025-11-25';
const common = 'content-type: application/json\r\naccept: application/json, text/event-stream\r\n';
const longestMs = 60_000;
let serial = 0;

/** A client of 2025-11-25 that calls, and calls again where MCP over HTTP lets it. */
export class Caller {
  readonly #options: CallerOptions;
  #connection: HttpConnection | undefined;
  #head = common;

  constructor(options: CallerOptions) {
    this.#options = options;
  }

  /** Headers of each request, once it is open. */
  get headers(): Record<string, string> {
    const lines = this.#head.split('\r\n').filter((line) => line !== '');
    return Object.fromEntries(lines.map((line) => line.split(': ', 2)));
  }

  async open(capabilities: object = {}): Promise<void> {
    const clientInfo = { name: 'faults', version: '1' };
    const params = { protocolVersion: revision, capabilities, clientInfo };
    const answer = await this.post({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
    const id = headerOf(answer.head, 'mcp-session-id');
    if (id === undefined) throw new Error(`initialize: ${answer.status} ${answer.body.slice(0, 200)}`);
    this.#head = `${common}mcp-session-id: ${id}\r\nmcp-protocol-version: ${revision}\r\n`;
    await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  }

  /** Another client in the same session. */
  beside(more: Partial<CallerOptions> = {}): Caller {
    const other = new Caller({ ...this.#options, ...more });
    other.#head = this.#head;
    return other;
  }

  /** Calls a tool that gives `text` back; the tally says how it went. Never rejects. */
  call(text: string, tool = 'echo', more: object = {}): Promise<boolean> {
    const params = { name: tool, arguments: { text, ...more } };
    return this.request('tools/call', params, `"text":"${text}"`);
  }

  /** A request whose answer has `expected` in its JSON. Never rejects. */
  async request(method: string, params: object, expected: string): Promise<boolean> {
    const { tally, resend } = this.#options;
    serial += 1;
    const id = serial;
    const begun = performance.now();
    try {
      const answer = await this.post({ jsonrpc: '2.0', id, method, params });
      const json = jsonText(answer);
      const right = answer.status === 200 && json.includes(`"id":${id}`) && json.includes(expected);
      if (right) tally.done += 1;
      else tally.failures.push(`${expected}: ${answer.status} ${answer.body.slice(0, 200)}`);
      return right;
    } catch (error) {
      if (error instanceof ConnectionLost && !resend) tally.lost += 1;
      else tally.failures.push(`${expected}: ${error instanceof Error ? error.message : String(error)}`);
      return false;
    } finally {
      const ms = performance.now() - begun;
      tally.slowestMs = Math.max(tally.slowestMs, ms);
      tally.onAnswer?.(ms);
    }
  }

  async post(message: object): Promise<HttpAnswer> {
    const { path, tally, resend, alwaysNew } = this.#options;
    const body = JSON.stringify(message);
    const deadline = performance.now() + longestMs;
    for (;;) {
      try {
        const connection = await this.#connect();
        const answer = await connection.exchange('POST', path, this.#head, body);
        if (alwaysNew === true) connection.close();
        return answer;
      } catch (error) {
        if (performance.now() > deadline) throw error;
        if (isRefused(error)) tally.refused += 1;
        else if (resend && error instanceof ConnectionLost && !error.begun) tally.resent += 1;
        else throw error;
        await sleep(5);
      }
    }
  }

  close(): void {
    this.#connection?.close();
  }

  async #connect(): Promise<HttpConnection> {
    if (this.#connection === undefined || this.#connection.closed) {
      this.#connection = await HttpConnection.open(this.#options.port);
    }
    return this.#connection;
  }
}

function isRefused(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';
}
