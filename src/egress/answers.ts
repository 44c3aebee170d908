import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { EgressRefusal } from './errors.ts';

/** Answers a CONNECT request with a refusal whose body says what to change, and closes. */
export function refuseTunnel(client: Duplex, refusal: EgressRefusal): void {
  if (!client.writable) {
    client.destroy();
    return;
  }
  const body = `${refusal.message}\n`;
  const head = [
    `HTTP/1.1 ${refusal.status} ${refusal.phrase}`,
    'content-type: text/plain; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    ...Object.entries(challengeOf(refusal)).map(([name, value]) => `${name}: ${value}`),
  ];
  client.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** The same for a forwarded request; one whose answer has begun is cut. */
export function refuseRequest(response: ServerResponse, refusal: EgressRefusal): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(refusal.status, refusal.phrase, {
    'content-type': 'text/plain; charset=utf-8',
    connection: 'close',
    ...challengeOf(refusal),
  });
  response.end(`${refusal.message}\n`);
}

function challengeOf(refusal: EgressRefusal): Record<string, string> {
  return refusal.status === 407 ? { 'proxy-authenticate': 'Basic realm="ploinky-egress"' } : {};
}
