import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { startStdioProcess } from './stdio-process.ts';

const limits = { timeout: 10_000 };
const start = (...command: string[]) =>
  startStdioProcess(
    {
      ...{ command, cwd: '/', env: {}, clock: systemClock, log: silentLog },
      ...{ startMs: 5_000, graceMs: 500, maxMessageBytes: 65_536 },
    },
    { events: { onNotification: () => undefined }, signal: new AbortController().signal, era: 'any' },
  );

test('a program that is not there, or ends at once, did not come up: it is not gone', limits, async () => {
  await assert.rejects(start('no-such-program'), {
    code: 'UpstreamLost',
    message:
      'The MCP server of this agent did not come up: it cannot be started: spawn no-such-program ENOENT',
  });
  await assert.rejects(start(process.execPath, '-e', 'process.exit(3)'), {
    message: 'The MCP server of this agent did not come up: it ended with exit code 3',
  });
  await assert.rejects(start(process.execPath, '-e', 'process.kill(process.pid, "SIGKILL")'), {
    message: /ended by SIGKILL, probably because the memory was used up: .*limits\.memory/,
  });
});
