import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { TestServer } from '../testing/harness.ts';
import { testServer } from '../testing/harness.ts';

/** An agent with commands that become tasks. Fixtures of tests. */

const question = (message: string) => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } },
});

/** A line on descriptor 3, in a command for /bin/sh. */
const tell = (event: object) => `echo '${JSON.stringify(event)}' >&3`;
const asks = (state: string, ...keys: string[]) =>
  tell({
    inputRequests: Object.fromEntries(keys.map((key) => [key, question(key)])),
    requestState: state,
  });

/** Answers with its whole envelope when it has been answered, and asks before. */
const meet = `IN=$(cat); case "$IN" in *inputResponses*) echo "$IN";; *) ${asks('s1', 'name')};; esac`;
/** Asks twice, under the same key. */
const meetAgain = `IN=$(cat); case "$IN" in
  *'"requestState":"s2"'*) echo "$IN";;
  *'"requestState":"s1"'*) ${asks('s2', 'name')};;
  *) ${asks('s1', 'name')};; esac`;

const optional = { execution: { taskSupport: 'optional' } };
const required = { execution: { taskSupport: 'required' } };

export const taskTools = [
  { name: 'plain', command: 'echo plain' },
  { name: 'quick', command: 'echo done; echo aside >&2', ...optional },
  { name: 'slow', command: 'echo $$ > slow.pid; sleep 300', ...optional },
  { name: 'fails', command: 'echo broken >&2; exit 3', ...required },
  { name: 'late', command: 'sleep 300', timeoutMs: 200, ...required },
  {
    name: 'breaks',
    command: tell({ jsonrpcError: { code: -32_050, message: 'Broken', data: { part: 1 } } }),
    ...required,
  },
  { name: 'meet', command: meet, ...required },
  { name: 'meet-again', command: meetAgain, ...required },
  {
    name: 'meet-two',
    command: `IN=$(cat); case "$IN" in *inputResponses*) echo "$IN";; *) ${asks('s', 'one', 'two')};; esac`,
    ...required,
  },
  { name: 'meet-now', command: meet },
  { name: 'brief', command: 'echo brief', syncWindowMs: 20_000 },
  {
    name: 'long',
    command: `echo ran >> runs; ${tell({ progress: 1, total: 2, message: 'half' })}; echo early; sleep 1.5; echo long`,
    syncWindowMs: 500,
  },
  { name: 'long-late', command: 'sleep 300', syncWindowMs: 50, timeout: 400, timeoutMs: 60_000 },
  { name: 'long-only-mcp', command: 'sleep 1; echo long', syncWindowMs: 100, ...required },
  {
    name: 'one-by-one',
    command: 'mkdir taken || { echo two at once; exit; }; sleep 1; rmdir taken; echo alone',
    maxParallel: 1,
    ...optional,
  },
  { name: 'queued', command: 'echo queued', async: true },
  { name: 'queued-asks', command: meet, async: true },
];

export function startTasks(t: TestContext, limits: Record<string, number> = {}): Promise<TestServer> {
  return testServer(t, { limits: { taskPollMs: 50, ...limits }, mcp: { tools: taskTools } });
}

export async function fileIn({ code }: TestServer, name: string): Promise<string> {
  return readFile(join(code, name), 'utf8');
}

/** Whether a process of this id is there. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
