import assert from 'node:assert/strict';
import { readRange } from '#agent-server/files/byte-range.ts';
import { attachment, nameIn, nameOf } from '#agent-server/files/disposition.ts';
import { select } from '#agent-server/files/preconditions.ts';
import { compileUriTemplate } from '#agent-server/tools/uri-template.ts';
import type { FuzzTarget } from '../target.ts';

function range(input: Buffer): void {
  const text = input.toString('latin1');
  for (const size of [0, 1, 1_000, Number.MAX_SAFE_INTEGER]) {
    const found = readRange(text, size);
    if (found === undefined || found === 'unsatisfiable') continue;
    assert.ok(found.start >= 0 && found.start < found.end && found.end <= size, text);
    assert.ok(Number.isSafeInteger(found.start) && Number.isSafeInteger(found.end), text);
  }
}

function preconditions(input: Buffer): void {
  const [match = '', none = '', since = '', until = '', ifRange = '', range = ''] = input
    .toString('latin1')
    .split('\n');
  const headers = {
    ...{ 'if-match': match, 'if-none-match': none, 'if-modified-since': since },
    ...{ 'if-unmodified-since': until, 'if-range': ifRange, range },
  };
  select(headers, { etag: '"abc"', modified: new Date(1_750_000_000_000), size: 10 } as never);
}

function disposition(input: Buffer): void {
  const text = input.toString('latin1');
  for (const name of [nameIn(text), nameOf(text)]) {
    const header = attachment(name);
    assert.match(header, /^[\x20-\x7e]*$/);
    // Nothing in a name ends the parameter that it stands in, or begins another one.
    assert.match(
      header,
      /^attachment(?:; filename="[^"\\%*/;]*")?(?:; filename\*=UTF-8''[\w.!#$&+^`|~%-]*)?$/,
    );
    if (name === null) continue;
    assert.ok(!/[/\\]/.test(name) && name !== '.' && name !== '..' && name.length <= 1_024, name);
    assert.equal(nameIn(header), name);
  }
}

function template(input: Buffer): void {
  const text = input.toString('utf8');
  const newline = text.indexOf('\n');
  const { match, variables } = compileUriTemplate(text.slice(0, Math.max(0, newline)));
  const values = match(text.slice(newline + 1));
  if (values === undefined) return;
  for (const name of Object.keys(values)) assert.ok(variables.includes(name), name);
}

export const filesTargets: readonly FuzzTarget[] = [
  {
    name: 'range',
    seeds: ['bytes=0-4', 'bytes=-4', 'bytes=5-', 'bytes = 1 - 2', 'bytes=0-1,3-4', 'BYTES=0-0'],
    words: ['bytes=', '-', ',', ' ', '\t', '9007199254740993', '0', '1e9', '+1', '0x1'],
    run: range,
  },
  {
    name: 'preconditions',
    seeds: ['"abc"\n\n\n\n\n', '*\nW/"abc", "x"\nTue, 15 Nov 1994 08:12:31 GMT\n\n"abc"\nbytes=0-1'],
    words: ['"', 'W/', '*', ',', '"abc"', 'Tue, 15 Nov 1994 08:12:31 GMT', '\n', 'bytes=0-'],
    run: preconditions,
  },
  {
    name: 'content-disposition',
    seeds: [
      'attachment; filename="a b.txt"',
      "attachment; filename*=UTF-8''%e2%82%ac%20rates",
      'attachment; filename=plain; filename="x\\"y"',
      '../../etc/passwd',
      'a%2Fb%00c',
    ],
    words: [
      '; ',
      'filename',
      '*=',
      "UTF-8''",
      '"',
      '\\',
      '%',
      '%00',
      '%ff',
      '%e2%80%ae',
      '/',
      '..',
      '\r\n',
      ' ',
    ],
    run: disposition,
  },
  {
    name: 'uri-template',
    seeds: [
      'notes://{id}\nnotes://7',
      'files:///{+path}\nfiles:///a/b',
      '{a}/{b}{c*}\nx/y/z',
      'a{b}c{d}e\nabcde',
    ],
    words: ['{', '}', '*', '+', '/', '%', '%2f', '%zz', 'a', '\n', '{x}', '__proto__', ':9'],
    run: template,
  },
];
