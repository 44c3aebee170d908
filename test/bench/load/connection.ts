import { connect, type Socket } from 'node:net';
import { systemRandom } from '#kit/random.ts';
import { bindMessage } from '#wire/binding.ts';
import type { WireKey } from '#wire/keys.ts';
import { mintInvocation } from '#wire/token.ts';
import { AnswerReader, type HttpAnswer, headerOf, jsonText } from './answer-reader.ts';
import type { LoadTarget } from './order.ts';

const sessionRevision = '2025-11-25';
const statelessRevision = '2026-07-28';
const meta = {
  'io.modelcontextprotocol/protocolVersion': statelessRevision,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
};

/** One keep-alive connection that calls, waits, checks the answer and calls again. */
export class LoadConnection {
  readonly #target: LoadTarget;
  readonly #number: number;
  readonly #socket: Socket;
  readonly #reader = new AnswerReader();
  readonly #key: WireKey | undefined;
  #head: string;
  #serial = 0;
  #waiting: { resolve(answer: HttpAnswer): void; reject(error: Error): void } | undefined;

  private constructor(target: LoadTarget, number: number, socket: Socket) {
    this.#target = target;
    this.#number = number;
    this.#socket = socket;
    const { token } = target;
    this.#key = token && { kid: token.kid, secret: Buffer.from(token.secret, 'base64url') };
    this.#head = headOf(target);
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the connection was closed')));
  }

  /** Connected, and in the sessions era with a session: its own, or that of another connection. */
  static async open(target: LoadTarget, number: number, other?: LoadConnection): Promise<LoadConnection> {
    const socket = connect(target.address);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    socket.setNoDelay(true);
    const connection = new LoadConnection(target, number, socket);
    if (other !== undefined) connection.#head = other.#head;
    else if (target.era === 'sessions') await connection.#initialize();
    return connection;
  }

  /** One call; milliseconds until its answer. Throws when the answer is not the right one. */
  async call(): Promise<number> {
    const id = ++this.#serial;
    const text = `call-${this.#number}-${id}`;
    const { method, name, era } = this.#target;
    const params = { name, arguments: { text }, ...(era === 'stateless' && { _meta: meta }) };
    const message = { jsonrpc: '2.0', id, method, params };
    const bytes = this.#request(message);
    const begun = performance.now();
    const answer = await this.#exchange(bytes);
    const ms = performance.now() - begun;
    check(answer, id, text);
    return ms;
  }

  close(): void {
    this.#waiting = undefined;
    this.#socket.destroy();
  }

  async #initialize(): Promise<void> {
    const params = {
      protocolVersion: sessionRevision,
      capabilities: {},
      clientInfo: { name: 'bench', version: '1' },
    };
    const message = { jsonrpc: '2.0', id: 0, method: 'initialize', params };
    const answer = await this.#exchange(this.#request(message));
    if (answer.status !== 200) throw new Error(`initialize: ${answer.status} ${answer.body.slice(0, 300)}`);
    const id = headerOf(answer.head, 'mcp-session-id');
    if (id !== undefined) this.#head += `mcp-session-id: ${id}\r\n`;
    this.#head += `mcp-protocol-version: ${sessionRevision}\r\n`;
    await this.#exchange(this.#request({ jsonrpc: '2.0', method: 'notifications/initialized' }));
  }

  #request(message: object): string {
    const body = JSON.stringify(message);
    return `${this.#head}${this.#authorization(message)}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  }

  #authorization(message: object): string {
    const { token } = this.#target;
    if (token === undefined || this.#key === undefined) return '';
    const minted = mintInvocation(this.#key, {
      agent: token.agent,
      instance: token.instance,
      caller: 'router:first-party',
      user: null,
      call: bindMessage(message),
      mcp: { session: `bench-${this.#number}`, revision: sessionRevision },
      now: Date.now(),
      random: systemRandom,
    });
    return `authorization: Bearer ${minted}\r\n`;
  }

  #exchange(bytes: string): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#socket.write(bytes);
    });
  }

  #take(chunk: Buffer): void {
    try {
      for (const answer of this.#reader.push(chunk)) {
        const waiting = this.#waiting;
        this.#waiting = undefined;
        if (waiting === undefined) throw new Error('an answer that nobody waits for');
        waiting.resolve(answer);
      }
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #fail(error: Error): void {
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }
}

function headOf({ address, url, era, method, name }: LoadTarget): string {
  const host = 'path' in address ? 'localhost' : `${address.host}:${address.port}`;
  const lines = [
    `POST ${url} HTTP/1.1`,
    `host: ${host}`,
    'content-type: application/json',
    'accept: application/json, text/event-stream',
    ...(era === 'stateless'
      ? [`mcp-protocol-version: ${statelessRevision}`, `mcp-method: ${method}`, `mcp-name: ${name}`]
      : []),
    ...(era === 'none' ? [`mcp-protocol-version: ${sessionRevision}`] : []),
  ];
  return `${lines.join('\r\n')}\r\n`;
}

/** The right id, a result that is no error, and the argument of exactly this call in it. */
function check(answer: HttpAnswer, id: number, text: string): void {
  const json = jsonText(answer);
  const parsed = answer.status === 200 ? (JSON.parse(json) as Record<string, unknown>) : {};
  const result = parsed['result'] as { isError?: unknown } | undefined;
  // Followed by a quote: call-1-1 is not found in call-1-11.
  const isThere = json.includes(`${text}"`) || json.includes(`${text}\\"`);
  if (parsed['id'] === id && result !== undefined && result.isError !== true && isThere) return;
  throw new Error(`a wrong answer to call ${id} (${text}): ${answer.status} ${answer.body.slice(0, 400)}`);
}
