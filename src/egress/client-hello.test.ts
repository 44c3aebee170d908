import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { describe, it } from 'node:test';
import { connect } from 'node:tls';
import fc from 'fast-check';
import { maxHelloBytes, readOpening } from './client-hello.ts';

/** The first bytes that Node's own TLS sends. */
function helloFor(servername: string): Promise<Buffer> {
  return new Promise((resolve) => {
    const socket = new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        resolve(chunk);
        done();
      },
    });
    connect({ socket, servername }).on('error', () => undefined);
  });
}

/** The same handshake in records of `size` bytes. */
function inRecords(hello: Buffer, size: number): Buffer {
  const body = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < body.length; at += size) {
    const part = body.subarray(at, at + size);
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 0xff]), part);
  }
  return Buffer.concat(records);
}

const named = (serverName: string | undefined) => ({ type: 'hello', serverName });

describe('the opening of a connection', () => {
  it('tells the server name of a ClientHello, or that it names none', async () => {
    assert.deepEqual(readOpening(await helloFor('allowed.test')), named('allowed.test'));
    assert.deepEqual(readOpening(await helloFor('')), named(undefined));
  });

  it('tells it however the handshake is cut into records, and not before it is there', async () => {
    const hello = await helloFor('allowed.test');
    for (const size of [100, 400, 1000]) {
      const bytes = inRecords(hello, size);
      assert.deepEqual(readOpening(bytes), named('allowed.test'), `records of ${size}`);
      for (let end = 0; end < bytes.length; end += 7)
        assert.deepEqual(readOpening(bytes.subarray(0, end)), { type: 'more' });
    }
  });

  it('is read as soon as it is there, whatever comes with it', async () => {
    const early = Buffer.from([20, 3, 3, 0, 1, 1, 23, 3, 3, 0, 2, 7, 7, 23, 3, 3, 0, 9, 1]);
    const hello = await helloFor('allowed.test');
    for (const bytes of [hello, inRecords(hello, 100)]) {
      for (let end = 0; end <= early.length; end += 1) {
        const sent = Buffer.concat([bytes, early.subarray(0, end)]);
        assert.deepEqual(readOpening(sent), named('allowed.test'));
      }
    }
    // The control: before it is there, nothing else may come.
    const cut = inRecords(hello, 100).subarray(0, 105);
    assert.deepEqual(readOpening(Buffer.concat([cut, early])), { type: 'malformed' });
  });

  it('is malformed in more records than any client sends', async () => {
    assert.deepEqual(readOpening(inRecords(await helloFor('allowed.test'), 3)), { type: 'malformed' });
  });

  it('is another protocol when it does not begin like TLS', () => {
    for (const text of ['SSH-2.0-x\r\n', 'GET / HTTP/1.1\r\n', '\x80\x2e\x01'])
      assert.deepEqual(readOpening(Buffer.from(text, 'latin1')), { type: 'other' });
  });

  it('is malformed with two names, which a server might take either of', async () => {
    const hello = await helloFor('allowed.test');
    const at = hello.indexOf('allowed.test') - 9;
    const extension = hello.subarray(at, at + 9 + 'allowed.test'.length);
    const twice = Buffer.concat([hello.subarray(0, at), extension, hello.subarray(at)]);
    const listAt = 5 + 4 + 34 + 1 + (hello[43] ?? 0);
    const lengthAt = listAt + 2 + hello.readUInt16BE(listAt) + 2;
    const grow = (offset: number) =>
      twice.writeUInt16BE(twice.readUInt16BE(offset) + extension.length, offset);
    for (const offset of [3, 7, lengthAt]) grow(offset);
    assert.deepEqual(readOpening(twice), { type: 'malformed' });
  });

  it('is never an exception, and ends being undecided', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const { type } = readOpening(Buffer.concat([Buffer.from([22]), bytes]));
        assert.ok(['more', 'hello', 'malformed'].includes(type));
      }),
    );
    const endless = Buffer.alloc(maxHelloBytes + 10, 0);
    Buffer.from([22, 3, 1, 0x7f, 0xff, 1, 0, 0x7f, 0xf0]).copy(endless);
    assert.deepEqual(readOpening(endless), { type: 'malformed' });
  });
});
