import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { maxHelloBytes, readOpening } from '#egress/client-hello.ts';
import { EgressRefusal } from '#egress/errors.ts';
import { parseAbsoluteForm, parseAuthority } from '#egress/target.ts';
import { codeOf } from '#kit/errors.ts';
import { createLineDecoder } from '#kit/line-decoder.ts';
import { type FuzzTarget, unless } from '../target.ts';

/** A host and a port, which no resolver reads as another address than isIP does. */
function egressTarget(input: Buffer): void {
  const text = input.toString('latin1');
  for (const parse of [parseAuthority, parseAbsoluteForm]) {
    const target = unless(
      (error) => error instanceof EgressRefusal,
      () => parse(text),
    );
    if (target === undefined) continue;
    assert.ok(Number.isInteger(target.port) && target.port > 0 && target.port < 65_536);
    assert.ok(isIP(target.host) !== 0 || /^[A-Za-z0-9._-]{1,253}$/.test(target.host), target.host);
    assert.ok(isIP(target.host) !== 0 || !/(?:^|\.)(?:\d+|0x[0-9a-f]*)\.?$/i.test(target.host), target.host);
  }
}

function clientHello(input: Buffer): void {
  const opening = readOpening(input);
  if (opening.type === 'more') assert.ok(input.length <= maxHelloBytes);
  // Whatever else the name is, it is compared with the host that was asked for.
  if (opening.type === 'hello') assert.ok((opening.serverName ?? '').length <= maxHelloBytes);
}

function lines(input: Buffer): void {
  const split = (size: number) =>
    unless(
      (error) => codeOf(error) === 'LineTooLong',
      () => {
        const decoder = createLineDecoder(256);
        const read: string[] = [];
        for (let at = 0; at < input.length; at += size)
          read.push(...decoder.push(input.subarray(at, at + size)));
        return read;
      },
    );
  const [one, seven] = [split(1), split(7)];
  if (one !== undefined && seven !== undefined) assert.deepEqual(seven, one);
}

/** A ClientHello for this name, as far as readers of the name look. */
function hello(name: string): Buffer {
  const host = Buffer.from(name);
  const u16 = (value: number) => Buffer.from([value >> 8, value & 255]);
  const list = Buffer.concat([Buffer.from([0]), u16(host.length), host]);
  const extension = Buffer.concat([u16(0), u16(list.length + 2), u16(list.length), list]);
  const body = Buffer.concat([
    ...[u16(0x0303), Buffer.alloc(32, 1), Buffer.from([0]), u16(2), u16(0x1301), Buffer.from([1, 0])],
    ...[u16(extension.length), extension],
  ]);
  const message = Buffer.concat([Buffer.from([1, 0]), u16(body.length), body]);
  return Buffer.concat([Buffer.from([22, 3, 1]), u16(message.length), message]);
}

export const networkTargets: readonly FuzzTarget[] = [
  {
    name: 'egress-target',
    seeds: ['example.org:443', '[::1]:80', 'http://example.org/a?b', 'http://127.1:80/', '2130706433:80'],
    words: [
      ':',
      '.',
      '[',
      ']',
      '/',
      '@',
      'http://',
      '0x7f',
      '127.0.0.1',
      '::ffff:',
      '%2e',
      '\0',
      '。',
      '443',
      '#',
    ],
    run: egressTarget,
  },
  {
    name: 'client-hello',
    seeds: [hello('example.org'), hello('a'), Buffer.from('GET / HTTP/1.1\r\n')],
    words: ['\x16\x03\x01', '\0', '\xff', '\0\0', 'example.org', '\x01'],
    run: clientHello,
  },
  {
    name: 'lines',
    seeds: ['{"a":1}\n{"b":2}\n', '\n\n', 'é\n🙂\r\n'],
    words: ['\n', '\r', '🙂', 'a', '\0'],
    run: lines,
  },
];
