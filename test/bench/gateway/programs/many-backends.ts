/**
 * Many agents in one process, each with ten tools of its own; one of them may hang: it proves itself and lists nothing.
 *   many-backends.ts, [{socket, secret (base64url), kid, instance, name, hangs}] on standard input → prints `ready N`
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { answerChallenge, proofPath } from '#wire/challenge.ts';

interface Backend {
  readonly socket: string;
  readonly secret: string;
  readonly kid: string;
  readonly instance: string;
  readonly name: string;
  readonly hangs: boolean;
}

const inputSchema = { type: 'object', properties: { text: { type: 'string' } } };

function serve(backend: Backend, request: IncomingMessage, response: ServerResponse): void {
  const key = { kid: backend.kid, secret: Buffer.from(backend.secret, 'base64url') };
  const url = request.url ?? '';
  const send = (value: unknown) => {
    const body = JSON.stringify(value);
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    });
    response.end(body);
  };
  if (url.startsWith(proofPath)) {
    const nonce = new URLSearchParams(url.slice(url.indexOf('?'))).get('nonce') ?? '';
    send(answerChallenge(key, backend.instance, nonce));
    return;
  }
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => {
    body += chunk;
  });
  request.on('end', () => {
    if (backend.hangs) return;
    const { id, method } = JSON.parse(body || '{}') as { id?: number | string; method?: string };
    if (id === undefined) response.writeHead(202).end();
    else send({ jsonrpc: '2.0', id, result: method === 'tools/list' ? { tools: toolsOf(backend) } : {} });
  });
}

function toolsOf({ name }: Backend): object[] {
  return Array.from({ length: 10 }, (_, index) => ({ name: `${name}-tool-${index}`, inputSchema }));
}

const backends = JSON.parse(await text(process.stdin)) as Backend[];
for (const backend of backends) {
  const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) =>
    serve(backend, request, response),
  );
  await new Promise<void>((resolve) => server.listen(backend.socket, resolve));
}
console.log(`ready ${backends.length}`);
