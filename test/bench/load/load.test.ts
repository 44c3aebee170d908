import assert from 'node:assert/strict';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { median, medianRatio, percentile } from '../harness/stats.ts';
import { AnswerReader, headerOf, jsonText } from './answer-reader.ts';
import { LoadConnection } from './connection.ts';

const limits = { timeout: 10_000 };
const first = 'HTTP/1.1 200 OK\r\nMCP-Session-Id: AbC_9\r\nContent-Length: 7\r\n\r\n{"a":1}';
const second =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n' +
  '10\r\n: alive\n\nevent: x\r\nf\r\n\ndata: {"b":2}\n\r\n0\r\n\r\n';
const third = 'HTTP/1.1 202 Accepted\r\ndate: today\r\n\r\n';

test('answers are the same wherever the bytes are cut', () => {
  const bytes = Buffer.from(first + second + third);
  for (let size = 1; size <= bytes.length; size += 1) {
    const reader = new AnswerReader();
    const answers = [];
    for (let at = 0; at < bytes.length; at += size)
      answers.push(...reader.push(bytes.subarray(at, at + size)));
    assert.deepEqual(
      answers.map((answer) => [answer.status, jsonText(answer)]),
      [
        [200, '{"a":1}'],
        [200, '{"b":2}'],
        [202, ''],
      ],
    );
    assert.equal(headerOf(answers[0]?.head ?? '', 'mcp-session-id'), 'AbC_9', 'its case is kept');
  }
});

test('an answer whose end cannot be known is an error, not a guess', () => {
  assert.throws(
    () => new AnswerReader().push(Buffer.from('HTTP/1.1 200 OK\r\nx: y\r\n\r\nabc')),
    /without a length/,
  );
});

type Reply = (message: { id: number; params: { arguments: { text: string } } }) => object;

async function startServer(reply: Reply): Promise<Server> {
  const send = (response: ServerResponse, value: object) => {
    const text = JSON.stringify(value);
    response.writeHead(200, { 'content-length': Buffer.byteLength(text) }).end(text);
  };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    send(response, { jsonrpc: '2.0', ...reply(JSON.parse(body)) });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

async function callOnce(reply: Reply): Promise<number> {
  const server = await startServer(reply);
  const { port } = server.address() as AddressInfo;
  const target = {
    address: { host: '127.0.0.1', port },
    url: '/mcp',
    era: 'none',
    method: 'tools/call',
    name: 'noop',
    connections: 1,
  } as const;
  const connection = await LoadConnection.open(target, 7);
  try {
    return await connection.call();
  } finally {
    connection.close();
    server.close();
  }
}

const say = (text: string) => ({ content: [{ type: 'text', text }] });

test('the load takes the right answer and no other', limits, async () => {
  assert.ok((await callOnce(({ id, params }) => ({ id, result: say(params.arguments.text) }))) > 0);
  const wrong: Record<string, Reply> = {
    'another call’s id': ({ params }) => ({ id: 99, result: say(params.arguments.text) }),
    'another call’s text': ({ id, params }) => ({ id, result: say(`${params.arguments.text}1`) }),
    'a tool that failed': ({ id, params }) => ({
      id,
      result: { ...say(params.arguments.text), isError: true },
    }),
    'a JSON-RPC error': ({ id, params }) => ({ id, error: { code: -1, message: params.arguments.text } }),
  };
  for (const [name, reply] of Object.entries(wrong)) {
    await assert.rejects(callOnce(reply), /a wrong answer to call 1/, name);
  }
});

test('medians and percentiles are of the nearest rank', () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(percentile([1, 2, 3, 4], 0.99), 4);
  assert.equal(percentile([1, 2, 3, 4], 0.5), 2);
  assert.ok(Number.isNaN(median([])));
  const rounds = [
    { top: 10, bottom: 5 },
    { top: 30, bottom: 10 },
    { top: 400, bottom: 100 },
  ];
  assert.equal(
    medianRatio(
      rounds,
      ({ top }) => top,
      ({ bottom }) => bottom,
    ),
    3,
  );
});
