import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';

// How a hostile agent answers a call, by the name of the tool.

type Id = string | number;
export type Attack = (response: ServerResponse, id: Id) => void;

const mebibyte = 1024 * 1024;
const json = { 'content-type': 'application/json' };
const events = { 'content-type': 'text/event-stream' };

const levels = 1_000_000;
const deepLists = `${'['.repeat(levels)}${']'.repeat(levels)}`;
const deepBlocks = `${'{"type":"tool_result","content":['.repeat(100_000)}${']}'.repeat(100_000)}`;

function resultText(id: Id, more: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"x"}]${more}}}`;
}

function sendJson(response: ServerResponse, text: string | Buffer): void {
  response.writeHead(200, { ...json, 'content-length': Buffer.byteLength(text) }).end(text);
}

/** As fast as it is taken, until the other side goes away. */
function forever(response: ServerResponse, piece: string | Buffer): void {
  const more = () => {
    while (!response.destroyed) {
      if (!response.write(piece)) {
        response.once('drain', more);
        return;
      }
    }
  };
  more();
}

function eventOf(message: object): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}

const progress = eventOf({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken: 1, progress: 1 },
});
const updated = eventOf({
  jsonrpc: '2.0',
  method: 'notifications/resources/updated',
  params: { uri: 'doc://one', _meta: 'not an object' },
});

let bomb: Buffer | undefined;

export const answers: Readonly<Record<string, Attack>> = {
  echo: (response, id) => sendJson(response, resultText(id, '')),
  deep: (response, id) => sendJson(response, resultText(id, `,"structuredContent":{"a":${deepLists}}`)),
  'deep-blocks': (response, id) =>
    sendJson(response, `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[${deepBlocks}]}}`),
  'deep-event': (response, id) => {
    response.writeHead(200, events);
    response.end(`data: ${resultText(id, `,"structuredContent":{"a":${deepLists}}`)}\n\n`);
  },
  huge: (response, id) =>
    sendJson(response, resultText(id, `,"structuredContent":{"a":"${'x'.repeat(66 * mebibyte)}"}`)),
  'endless-json': (response, id) => {
    response.writeHead(200, json).write(resultText(id, ',"structuredContent":{"a":"').slice(0, -2));
    forever(response, 'x'.repeat(64 * 1024));
  },
  'endless-event': (response) => {
    response.writeHead(200, events).write('data: ');
    forever(response, 'x'.repeat(64 * 1024));
  },
  'endless-comments': (response) => {
    response.writeHead(200, events);
    forever(response, ': nothing\n\n'.repeat(1_000));
  },
  flood: (response) => {
    response.writeHead(200, events);
    forever(response, (progress + updated).repeat(100));
  },
  utf8: (response, id) => {
    const [head, tail] = resultText(id, ',"structuredContent":{"a":"@@"}').split('@@');
    const bad = Buffer.from([0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80, 0xf8]);
    sendJson(response, Buffer.concat([Buffer.from(head ?? ''), bad, Buffer.from(tail ?? '')]));
  },
  proto: (response, id) =>
    sendJson(
      response,
      resultText(id, ',"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}').replace(
        '{"jsonrpc"',
        '{"__proto__":{"polluted":1},"jsonrpc"',
      ),
    ),
  'wrong-id': (response) => sendJson(response, resultText('somebody else’s', '')),
  'wrong-ids': (response, id) => {
    response.writeHead(200, events);
    for (const other of ['x', -1, 0, 2, 1e9]) response.write(`data: ${resultText(other, '')}\n\n`);
    response.end(`data: ${resultText(id, '')}\n\n`);
  },
  'no-json': (response) => sendJson(response, '<html>no</html>'),
  nothing: (response) => sendJson(response, ''),
  null: (response) => sendJson(response, 'null'),
  list: (response) => sendJson(response, '[[[]],1,null]'),
  redirect: (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
  'broken-off': (response) => {
    response.writeHead(200, { ...json, 'content-length': '1000' }).write('{"jsonrpc"');
    setTimeout(() => response.destroy(), 20);
  },
  'other-length': (response, id) => {
    const text = resultText(id, '');
    response.socket?.end(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5\r\n\r\n${text}`,
    );
  },
  'two-answers': (response, id) => {
    const text = resultText(id, '');
    const one = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
    response.socket?.write(one + one.replace('"x"', '"smuggled"'));
  },
  'two-framings': (response, id) => {
    const text = resultText(id, '');
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n';
    const body = `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
    response.socket?.write(
      `${head}content-length: 5\r\n\r\n${body}HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n`,
    );
  },
  'huge-header': (response) =>
    void response.socket?.write(`HTTP/1.1 200 OK\r\nx: ${'a'.repeat(mebibyte)}\r\n\r\n`),
  'many-headers': (response) =>
    void response.socket?.write(`HTTP/1.1 200 OK\r\n${'x: a\r\n'.repeat(100_000)}\r\n`),
  'endless-1xx': (response) => {
    const { socket } = response;
    const more = () => {
      while (socket !== null && !socket.destroyed) {
        if (!socket.write('HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n'.repeat(100))) {
          socket.once('drain', more);
          return;
        }
      }
    };
    more();
  },
  bomb: (response) => {
    bomb ??= gzipSync(resultText(1, `,"structuredContent":{"a":"${'x'.repeat(100 * mebibyte)}"}`));
    const bytes = bomb;
    response
      .writeHead(200, { ...json, 'content-encoding': 'gzip', 'content-length': bytes.length })
      .end(bytes);
  },
  cookies: (response, id) => {
    response.setHeader('set-cookie', ['a=b']);
    response.setHeader('mcp-session-id', 'mine');
    response.setHeader('clear-site-data', '"*"');
    response.setHeader('alt-svc', 'h2="evil.example:443"');
    sendJson(response, resultText(id, ''));
  },
};
