import { subscribe } from 'node:diagnostics_channel';
import { createWriteStream } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';

interface Started {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * Writes what the product and the bench ask this process's HTTP servers to write, as kube-apiserver's audit log has it:
 * when the request was there and when its answer was handed over. Returns what ends the file.
 */
export function keepAuditLog(file: string): () => void {
  const out = createWriteStream(file);
  subscribe('http.server.request.start', (message) => {
    const { request, response } = message as Started;
    const userAgent = request.headers['user-agent'] ?? '';
    if (request.method === 'GET' || !userAgent.startsWith('ploinky-')) return;
    const received = timeText();
    const answer = request.method === 'POST' ? keepAnswer(response) : undefined;
    response.once('finish', () => {
      const event = {
        userAgent,
        verb: verbs[request.method ?? ''],
        objectRef: reference(request.url ?? '/', answer?.()),
        responseStatus: { code: response.statusCode },
        requestReceivedTimestamp: received,
        stageTimestamp: timeText(),
      };
      out.write(`${JSON.stringify(event)}\n`);
    });
  });
  return () => out.end();
}

const verbs: Readonly<Record<string, string>> = {
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Only the answer to a creation tells the name for sure. */
function keepAnswer(response: ServerResponse): () => string {
  let text = '';
  const end = response.end.bind(response);
  response.end = (body?: unknown, ...rest: unknown[]) => {
    if (Buffer.isBuffer(body)) text = body.toString('utf8');
    return Reflect.apply(end, response, [body, ...rest]);
  };
  return () => text;
}

function reference(url: string, answer: string | undefined) {
  const [path = ''] = url.split('?');
  const segments = path.split('/').slice(path.startsWith('/api/') ? 3 : 4);
  const isScoped = segments[0] === 'namespaces' && segments.length > 2;
  const [resource = '', name = nameIn(answer), subresource] = isScoped ? segments.slice(2) : segments;
  return {
    resource,
    name,
    ...(isScoped && { namespace: segments[1] }),
    ...(subresource !== undefined && { subresource }),
  };
}

function nameIn(answer: string | undefined): string {
  return answer === undefined || answer === '' ? '' : (JSON.parse(answer).metadata?.name ?? '');
}

/** With microseconds, which `Date` does not have. */
function timeText(): string {
  const now = performance.timeOrigin + performance.now();
  const micros = String(Math.floor((now % 1) * 1000)).padStart(3, '0');
  return `${new Date(Math.floor(now)).toISOString().slice(0, -1)}${micros}Z`;
}
