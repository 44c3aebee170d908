import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatAge, formatSpan } from './age.ts';
import { valueAtPath } from './json-path.ts';
import { formatTable } from './table.ts';
import { createTerminal, harmless, widthOf } from './terminal.ts';

test('a table lines its columns up, also with colours in the cells', () => {
  const text = formatTable(
    ['NAME', 'STATE'],
    [
      ['a', '\u001b[32mReady\u001b[39m'],
      ['longer', 'x'],
    ],
  );
  assert.equal(text, 'NAME     STATE\na        \u001b[32mReady\u001b[39m\nlonger   x');
});

test('spans are written as kubectl writes ages', () => {
  const cases: [number, string][] = [
    [0, '0s'],
    [-5, '0s'],
    [119, '119s'],
    [120, '2m'],
    [200, '3m20s'],
    [3600, '60m'],
    [3 * 3600, '3h'],
    [5 * 3600 + 60, '5h1m'],
    [47 * 3600, '47h'],
    [49 * 3600, '2d1h'],
    [30 * 86_400, '30d'],
  ];
  for (const [seconds, text] of cases) assert.equal(formatSpan(seconds * 1000), text);
  assert.equal(formatAge(undefined, 0), '<unknown>');
});

test('a printer column finds members and the item that its filter names', () => {
  const object = {
    status: {
      conditions: [
        { type: 'A', status: 'False' },
        { type: 'Ready', status: 'True' },
      ],
    },
  };
  assert.equal(valueAtPath(object, '.status.conditions[?(@.type=="Ready")].status'), 'True');
  assert.equal(valueAtPath(object, '.status.conditions[?(@.type=="None")].status'), undefined);
  assert.equal(valueAtPath(object, '.spec.tool'), undefined);
});

test('no text from outside can send a control sequence to the terminal', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const shown = harmless(text);
      assert.ok([...shown].every((char) => char === '\n' || char === '\t' || !/\p{Cc}/u.test(char)));
    }),
  );
  assert.equal(harmless('a\u001b]52;c;x\u0007b\tc\n'), 'a\ufffd]52;c;x\ufffdb\tc\n');
});

test('colours only on a terminal, and never when NO_COLOR is set', () => {
  const sink = { write: () => true };
  const tty = { ...sink, isTTY: true };
  const red = '\u001b[31mx\u001b[39m';
  assert.equal(createTerminal(tty, sink, {}).style('red', 'x'), red);
  assert.equal(createTerminal(tty, sink, { NO_COLOR: '1' }).style('red', 'x'), 'x');
  assert.equal(createTerminal(tty, sink, { TERM: 'dumb' }).style('red', 'x'), 'x');
  assert.equal(createTerminal(sink, tty, {}).style('red', 'x'), 'x');
  assert.equal(createTerminal(sink, sink, { FORCE_COLOR: '1' }).style('red', 'x'), red);
  assert.equal(widthOf(red), 1);
});
