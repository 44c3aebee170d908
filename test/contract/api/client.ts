import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';

/** Any JSON object of an answer; tests look into it by name. */
// biome-ignore lint/suspicious/noExplicitAny: a test reads answers of two servers whose exact shape is what is tested
export type Answered = any;

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  readonly body: Answered;
}

export interface SendOptions {
  readonly body?: unknown;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A server under test and how to reach it. */
export interface Client {
  send(method: string, path: string, options?: SendOptions): Promise<Answer>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Opens a watch; `path` has the query. */
  watch(path: string, headers?: Readonly<Record<string, string>>): Promise<WatchStream>;
  close(): void;
}

export interface WatchEvent {
  readonly type: string;
  readonly object: Answered;
}

/** The events of one watch. */
export class WatchStream {
  readonly status: number;
  readonly events: WatchEvent[] = [];
  ended = false;
  #rest = '';
  #changed: () => void = () => undefined;
  readonly #request: ClientRequest;

  constructor(request: ClientRequest, response: IncomingMessage) {
    this.status = response.statusCode ?? 0;
    this.#request = request;
    response.setEncoding('utf8');
    response.on('data', (text: string) => this.#read(text));
    const end = () => {
      this.ended = true;
      this.#changed();
    };
    response.on('end', end).on('error', end).on('close', end);
  }

  /** Resolves when `done` holds of the events so far; rejects after `milliseconds`. */
  async until(
    done: (events: readonly WatchEvent[]) => boolean,
    milliseconds = 10_000,
  ): Promise<readonly WatchEvent[]> {
    const deadline = performance.now() + milliseconds;
    while (!done(this.events)) {
      const left = deadline - performance.now();
      if (left <= 0 || this.ended)
        throw new Error(
          `the watch ${this.ended ? 'ended' : 'went on'} without it: ${JSON.stringify(this.events).slice(0, 1500)}`,
        );
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#changed = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return this.events;
  }

  /** Resolves when the server ended the stream. */
  async end(milliseconds = 10_000): Promise<readonly WatchEvent[]> {
    const deadline = performance.now() + milliseconds;
    while (!this.ended) {
      if (performance.now() > deadline) throw new Error('the watch did not end');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return this.events;
  }

  close(): void {
    this.#request.destroy();
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') this.events.push(JSON.parse(line) as WatchEvent);
    this.#changed();
  }
}

export type Endpoint = { readonly socket: string } | { readonly url: string; readonly token: string };

export function createClient(endpoint: Endpoint): Client {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
  const open = (method: string, path: string, headers: Record<string, string>) => {
    if ('socket' in endpoint) return httpRequest({ socketPath: endpoint.socket, path, method, headers });
    const all = { ...headers, authorization: `Bearer ${endpoint.token}` };
    return httpsRequest(endpoint.url + path, { method, headers: all, agent });
  };
  const send = (method: string, path: string, options: SendOptions = {}) => {
    const headers: Record<string, string> = {
      accept: 'application/json',
      'user-agent': 'contract/1.0',
      ...options.headers,
    };
    const text =
      options.body === undefined
        ? undefined
        : typeof options.body === 'string'
          ? options.body
          : JSON.stringify(options.body);
    if (text !== undefined) {
      headers['content-type'] = options.type ?? 'application/json';
      headers['content-length'] = String(Buffer.byteLength(text));
    }
    return new Promise<Answer>((resolve, reject) => {
      const request = open(method, path, headers);
      request.on('error', reject);
      request.on('response', (response) => readAll(response).then(resolve, reject));
      request.end(text);
    });
  };
  return {
    send,
    get: (path, headers) => send('GET', path, headers === undefined ? {} : { headers }),
    watch: (path, headers) =>
      new Promise((resolve, reject) => {
        const request = open('GET', path, { accept: 'application/json', ...headers });
        request.on('error', reject);
        request.on('response', (response) => resolve(new WatchStream(request, response)));
        request.end();
      }),
    close: () => agent.destroy(),
  };
}

async function readAll(response: IncomingMessage): Promise<Answer> {
  let text = '';
  response.setEncoding('utf8');
  for await (const part of response) text += part;
  let body: Answered;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  return { status: response.statusCode ?? 0, headers: response.headers, text, body };
}
