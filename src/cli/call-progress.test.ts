import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCallProgress, formatProgress } from './call-progress.ts';
import { createTerminal } from './terminal.ts';

const cases: [object, number, string][] = [
  [{ progress: 1, total: 4 }, 80, '[#####···············] 25 %'],
  [{ progress: 9, total: 4, message: 'over' }, 80, '[####################] 100 % over'],
  [{ progress: 3, message: 'a\nb\u001b[2J' }, 80, '3 a b�[2J'],
  [{ progress: 3, total: 0 }, 80, '3'],
  [{ progress: 1, message: 'much too long' }, 10, '1 much t…'],
];
for (const [params, columns, expected] of cases) {
  test(`progress ${JSON.stringify(params)} in ${columns} columns is ${expected}`, () => {
    assert.equal(formatProgress(params as Record<string, unknown>, columns), expected);
  });
}

function written(isTTY: boolean): string {
  let notes = '';
  const write = (text: string) => {
    notes += text;
  };
  const stream = { isTTY, columns: 80, write };
  const progress = createCallProgress(
    createTerminal({ write: () => assert.fail('not to standard output') }, stream, {}),
  );
  progress.show({ progress: 1 });
  progress.say('log');
  progress.show({ progress: 2 });
  progress.clear();
  return notes;
}

test('on a terminal the line is drawn again below what is said, and taken away', () => {
  assert.equal(written(true), '1\r\u001b[Klog\n1\r\u001b[K2\r\u001b[K');
});

test('elsewhere only what is said is written', () => {
  assert.equal(written(false), 'log\n');
});
