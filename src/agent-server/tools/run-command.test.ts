import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureMessage } from './run-command.ts';
import type { Exit } from './spawner-protocol.ts';

const limits = { timeoutMs: 1_000, maxOutputBytes: 1_000 };
const failureOf = (exit: Partial<Exit>, stderr = '', stdout = '') =>
  failureMessage(
    {
      type: 'exited',
      exit: { code: null, signal: null, overflow: false, ...exit },
      stdout: Buffer.from(stdout),
      stderr: Buffer.from(stderr),
    },
    limits,
  );

test('a tool that something else killed says the probable cause and the field', () => {
  const remedy =
    ' (ended by SIGKILL, probably because the memory was used up: raise spec.runtime.resources.limits.memory)';
  assert.equal(failureOf({ code: 137 }, 'Killed\n'), `Killed${remedy}`);
  assert.equal(failureOf({ signal: 'SIGKILL' }), `command exited with code null${remedy}`);
  assert.equal(failureOf({ code: 1 }, 'no such file'), 'no such file');
  assert.equal(failureOf({ code: 137 }, '', '{"ok":false,"error":"known"}'), 'known');
});
