import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { RpcError } from '#mcp/jsonrpc.ts';
import { parseBody } from '#mcp/parse.ts';
import { createSseDecoder } from '#mcp/sse.ts';
import { readCookie } from '#router/auth/cookies.ts';
import { safeReturnTo } from '#router/auth/return-to.ts';
import { AnswerReader } from '#wire/http1/answer-reader.ts';
import { HttpError } from '#wire/http1/message.ts';
import { type FuzzTarget, unless } from '../target.ts';

/** What is read of an answer that arrives in pieces of this many bytes. */
function answerIn(input: Buffer, size: number): string {
  const parts: string[] = [];
  let body = '';
  const reader = new AnswerReader('GET', {
    interim: () => parts.push('interim'),
    head: (head) => parts.push(JSON.stringify(head)),
    data: (chunk) => {
      body += chunk.toString('latin1');
    },
  });
  const isRead = unless(
    (error) => error instanceof HttpError,
    () => {
      for (let at = 0; at < input.length; at += size) reader.push(input.subarray(at, at + size));
      return true;
    },
  );
  // Of an answer that is refused it does not matter how much came before.
  return isRead === undefined ? 'refused' : JSON.stringify([parts, body, reader.done]);
}

function answer(input: Buffer): void {
  const whole = answerIn(input, Math.max(1, input.length));
  if (input.length < 2_000) for (const size of [1, 7]) assert.equal(answerIn(input, size), whole);
}

function eventsIn(input: Buffer, size: number): string {
  const decoder = createSseDecoder(4_096);
  const read = unless(
    (error) => error instanceof Error && error.message.includes('larger than'),
    () => {
      const events = [];
      for (let at = 0; at < input.length; at += size)
        events.push(...decoder.push(input.subarray(at, at + size)));
      return JSON.stringify([events, decoder.retry]);
    },
  );
  return read ?? 'refused';
}

function events(input: Buffer): void {
  const whole = eventsIn(input, Math.max(1, input.length));
  if (input.length < 2_000) for (const size of [1, 3]) assert.equal(eventsIn(input, size), whole);
}

function jsonRpc(input: Buffer): void {
  const text = input.toString('utf8');
  const body = unless(
    (error) => error instanceof RpcError && Number.isInteger(error.code),
    () => parseBody(text, { maxDepth: 32, maxMembers: 1_000, maxBatch: 10 }),
  );
  if (body === undefined) return;
  assert.ok(body.messages.length > 0 && body.messages.length <= 10);
  for (const message of body.messages) assert.equal((message as { jsonrpc?: unknown }).jsonrpc, '2.0');
}

function cookies(input: Buffer): void {
  const headers = { cookie: input.toString('latin1') };
  const value = readCookie({ headers } as IncomingMessage, 'ploinky_a');
  if (value === undefined) return;
  assert.ok(!value.includes(';'));
  const named = headers.cookie
    .split(';')
    .filter((pair) => /^[^=]*=/.exec(pair)?.[0].slice(0, -1).trim() === 'ploinky_a');
  assert.equal(named.length, 1);
}

/** Where a browser would go from a page of ours. */
function returnTo(input: Buffer): void {
  const text = input.toString('utf8');
  const safe = safeReturnTo(text);
  assert.equal(new URL(safe, 'https://here.example/auth/login').origin, 'https://here.example', text);
  assert.match(safe, /^[\x20-\x7e]*$|^[^\r\n]*$/);
}

export const httpTargets: readonly FuzzTarget[] = [
  {
    name: 'http1',
    seeds: [
      'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc',
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
      'HTTP/1.0 404 Not\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\nrest',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nabcde\r\n0\r\nX: y\r\n\r\n',
    ],
    words: [
      '\r\n',
      '\n',
      ': ',
      'Content-Length: ',
      'Transfer-Encoding: chunked',
      '0\r\n\r\n',
      'ffffffffffffffff',
      ';',
      ' ',
      '\t',
      'HTTP/1.1 ',
      '\0',
    ],
    run: answer,
  },
  {
    name: 'sse',
    seeds: [
      'data: a\n\n',
      'id: 1\nevent: x\ndata: a\ndata: b\r\n\r\n',
      ':\n\nretry: 10\n\n',
      '\ufeffdata:x\r\r',
    ],
    words: ['data', ':', ' ', '\n', '\r', '\r\n', 'id', 'event', 'retry', '\0', '\ufeff', '🙂'],
    run: events,
  },
  {
    name: 'json-rpc',
    seeds: [
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{}}}',
      '[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":"b","result":{}}]',
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"m"}}',
    ],
    words: [
      '{',
      '}',
      '[',
      ']',
      '"',
      ',',
      ':',
      '"jsonrpc":"2.0"',
      '"id":',
      '"method":',
      'null',
      '1e999',
      '-0',
      '\\u0000',
      '\\ud800',
      '"__proto__":',
      '"params":',
    ],
    run: jsonRpc,
  },
  {
    name: 'cookies',
    seeds: ['ploinky_a=1', 'b=2; ploinky_a=x; c=3', 'ploinky_a=1; ploinky_a=2', 'ploinky_ab=1;ploinky_a="q"'],
    words: ['ploinky_a', '=', ';', ' ', '"', ',', '\t', '\0', '__Host-'],
    run: cookies,
  },
  {
    name: 'return-to',
    seeds: ['/', '/a?b=c#d', '//evil.example', 'https://evil.example/', '/\\evil.example', '/%2f/evil'],
    words: [
      '/',
      '\\',
      '//',
      '@',
      ':',
      'http:',
      'evil.example',
      '\t',
      '\n',
      '\0',
      '%2f',
      '.',
      '?',
      '#',
      '\u2028',
    ],
    run: returnTo,
  },
];
