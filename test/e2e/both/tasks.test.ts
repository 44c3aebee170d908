import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createPlace, missingPlace, type Place } from '#test/fixtures/place/place.ts';
import { descendants, readRecords } from '#test/fixtures/workspace/traces.ts';
import { locateWorkspace } from '#workspace/host.ts';

// Task resources on a laptop and on a cluster: run, retried, timed out, dependent, scheduled, cancelled, in a sandbox
// or pod of their own, and killed in the middle.

const input = `const { input } = JSON.parse(await new Response(process.stdin).text());
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
const place = (name) => process.env.WORKSPACE_PATH + '/' + name;
const runs = (name) => { appendFileSync(place(name), 'x'); return readFileSync(place(name), 'utf8').length; };
`;
const code = {
  'say.mjs': `${input}console.log(JSON.stringify({ said: input.text, agent: process.env.AGENT_NAME, run: runs('say-' + input.text) }));`,
  'flaky.mjs': `${input}if (runs('flaky') < input.good) { console.error('not yet'); process.exit(3); } console.log('at last');`,
  'sleep.mjs': `${input}process.on('SIGTERM', () => { runs('ended-' + input.id); process.exit(1); });
runs('began-' + input.id); setTimeout(() => console.log('slept'), input.ms);`,
  'count.mjs': `${input}console.log(existsSync(place(input.name)) ? readFileSync(place(input.name), 'utf8').length : 0);`,
  'die.mjs': `${input}if (runs('die-' + input.id) > 1) { console.log('survived'); process.exit(0); }
setTimeout(() => undefined, 60_000);`,
};
const object = { type: 'object', additionalProperties: true };
const tools = Object.keys(code).map((file) => ({
  name: file.replace('.mjs', ''),
  description: `Runs ${file}.`,
  command: `node ${file}`,
  inputSchema: object,
}));
/** A call of it is a task for every client. */
const aside = { name: 'aside', description: 'Says it later.', command: 'node say.mjs', async: true };
const agent = (name: string, spec: object = {}) => ({
  apiVersion: 'ploinky.dev/v1alpha1',
  kind: 'Agent',
  metadata: { name },
  spec: { code: { inline: code }, mcp: { tools: [...tools, { ...aside, inputSchema: object }] }, ...spec },
});
const task = (name: string, tool: string, args: object, spec: object = {}) => ({
  apiVersion: 'ploinky.dev/v1alpha1',
  kind: 'Task',
  metadata: { name },
  spec: { agentRef: { name: 'worker' }, tool, input: args, ...spec },
});

interface Status {
  readonly phase?: string;
  readonly attempts?: number;
  readonly agent?: string;
  readonly exitCode?: number;
  readonly claimedBy?: string;
  readonly result?: { readonly content?: string; readonly message?: string };
  readonly conditions?: readonly { type: string; status: string; reason: string; message: string }[];
  readonly lastScheduleTime?: string;
}
interface Listed {
  readonly metadata: { readonly name: string; readonly labels?: Record<string, string> };
  readonly status?: Status;
}

const final = ['Succeeded', 'Failed', 'TimedOut', 'Cancelled'];

describe('Tasks', { skip: missingPlace, timeout: 900_000 }, () => {
  let place: Place;
  before(async () => {
    place = await createPlace({ examples: [] });
    await place.up(await file(agent('worker', { tasks: { track: 'Always' } })));
  });
  after(() => place?.remove());

  async function file(made: { readonly metadata: { readonly name: string } }): Promise<string> {
    const path = join(place.folder, `${made.metadata.name}.json`);
    await writeFile(path, JSON.stringify(made));
    return path;
  }
  async function make(made: ReturnType<typeof task>): Promise<string> {
    await place.must('apply', '-f', await file(made));
    return made.metadata.name;
  }
  async function list(kind: string): Promise<Listed[]> {
    const read = JSON.parse(await place.must('get', kind, '-o', 'json')) as { items?: Listed[] } & Listed;
    return read.items ?? [read];
  }
  const statusOf = async (name: string): Promise<Status> =>
    (await list('tasks')).find(({ metadata }) => metadata.name === name)?.status ?? {};
  async function until<T>(
    look: () => Promise<T>,
    isSo: (seen: T) => boolean,
    what: string,
    seconds = 90,
  ): Promise<T> {
    let seen: T | undefined;
    for (let tries = 0; tries < seconds * 2; tries += 1) {
      seen = await look().catch(() => undefined);
      if (seen !== undefined && isSo(seen)) return seen;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    return assert.fail(`${what}: ${JSON.stringify(seen)}`);
  }
  const ended = (name: string) =>
    until(
      () => statusOf(name),
      ({ phase = '' }) => final.includes(phase),
      `${name} has not ended`,
    );
  const inPhase = (name: string, phase: string) =>
    until(
      () => statusOf(name),
      (status) => status.phase === phase,
      `${name} is not ${phase}`,
    );
  const complete = ({ conditions = [] }: Status) =>
    conditions.find(({ type }) => type === 'Complete')?.reason;
  const count = async (name: string) =>
    Number(await place.must('call', 'count', '-a', 'worker', '-p', `name=${name}`));
  const gone = (kind: string, isIt: (listed: Listed) => boolean) =>
    until(
      () => list(kind),
      (listed) => !listed.some(isIt),
      `${kind} are still there`,
    );

  it('run once, and keep the result', async () => {
    const status = await ended(await make(task('hello', 'say', { text: 'hi' })));
    assert.deepEqual([status.phase, status.attempts, status.agent], ['Succeeded', 1, 'worker']);
    assert.equal(status.exitCode, 0);
    const { content } = JSON.parse(status.result?.content ?? '{}') as { content: [{ text: string }] };
    assert.deepEqual(JSON.parse(content[0].text), { said: 'hi', agent: 'worker', run: 1 });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    assert.equal(await count('say-hi'), 1);
  });

  it('appear for what a client began, without running it again', async () => {
    await place.must('call', 'aside', '-a', 'worker', '-p', 'text=aside');
    const tracked = ({ metadata }: Listed) => metadata.labels?.['ploinky.dev/tracked-from'] === 'worker';
    const [seen] = await until(
      async () => (await list('tasks')).filter(tracked),
      (found) => found.length > 0 && found.every(({ status }) => final.includes(status?.phase ?? '')),
      'the call does not appear as a Task',
    );
    assert.deepEqual([seen?.status?.phase, seen?.status?.attempts], ['Succeeded', 1]);
    assert.match(seen?.status?.result?.content ?? '', /aside/);
    assert.equal(await count('say-aside'), 1);
  });

  it('are shown by the real kubectl, with what happened', async (t) => {
    if (place.kubectl === undefined) return t.skip('kubectl is not installed');
    const { stdout } = await place.kubectl('get', 'tasks', 'hello', '-o', 'wide');
    assert.match(stdout, /hello +worker +say +Succeeded +1 .*Succeeded/);
    const events = await place.kubectl('get', 'events', '--field-selector', 'involvedObject.name=hello');
    assert.match(events.stdout, /Succeeded +task\/hello/);
  });

  it('are tried again as their policy says', async () => {
    const retry = { limit: 3, when: ['Failed'], backoff: { initialSeconds: 1 } };
    const status = await ended(await make(task('flaky', 'flaky', { good: 3 }, { retry })));
    assert.deepEqual([status.phase, status.attempts, status.exitCode], ['Succeeded', 3, 0]);
  });

  it('fail with the exit code and the end of the tool', async () => {
    const status = await ended(await make(task('bad', 'flaky', { good: 99 })));
    assert.deepEqual([status.phase, status.exitCode, complete(status)], ['Failed', 3, 'Failed']);
  });

  it('are refused for a tool that is not there', async () => {
    const status = await ended(await make(task('unknown', 'nope', {})));
    assert.deepEqual([status.phase, complete(status)], ['Failed', 'Refused']);
  });

  it('end when their time is over', async () => {
    const args = { id: 'slow', ms: 60_000 };
    const status = await ended(await make(task('slow', 'sleep', args, { timeoutSeconds: 2 })));
    assert.deepEqual([status.phase, complete(status)], ['TimedOut', 'TimedOut']);
    assert.equal(await count('ended-slow'), 1);
  });

  it('wait for those that they depend on, and fail with them', async () => {
    await make(task('second', 'say', { text: 'second' }, { dependsOn: [{ name: 'first' }] }));
    await make(task('never', 'say', { text: 'never' }, { dependsOn: [{ name: 'bad' }] }));
    const held = await inPhase('second', 'Held');
    assert.equal(held.conditions?.find(({ type }) => type === 'Stalled')?.reason, 'DependencyMissing');
    await make(task('first', 'sleep', { id: 'first', ms: 1_500 }));
    assert.equal((await ended('second')).phase, 'Succeeded');
    assert.equal((await statusOf('first')).phase, 'Succeeded');
    assert.equal(complete(await ended('never')), 'DependencyFailed');
    assert.equal(await count('say-never'), 0);
  });

  it('are cancelled when they are deleted, and by an annotation', async () => {
    for (const [name, cancel] of [
      ['deleted', () => place.must('delete', 'task', 'deleted')],
      ['annotated', () => place.must('task', 'cancel', 'annotated')],
    ] as const) {
      await make(task(name, 'sleep', { id: name, ms: 300_000 }));
      await inPhase(name, 'Running');
      await until(
        () => count(`began-${name}`),
        (begun) => begun === 1,
        `${name} has not begun`,
      );
      await cancel();
      await until(
        () => count(`ended-${name}`),
        (times) => times === 1,
        `${name} runs on`,
      );
    }
    assert.equal((await ended('annotated')).phase, 'Cancelled');
  });

  it('cannot change once they are made', async () => {
    const changed = await place.ploinky('apply', '-f', await file(task('hello', 'say', { text: 'ho' })));
    assert.notEqual(changed.code, 0);
    assert.match(changed.stdout + changed.stderr, /a Task cannot change once it is made/);
  });

  it('go to whoever has the capabilities', async () => {
    const spec = { agentRef: undefined, requiredCapabilities: ['gpu'] };
    await make(task('render', 'say', { text: 'render' }, spec));
    const stalled = (status: Status) => status.conditions?.find(({ type }) => type === 'Stalled');
    const waiting = await until(
      () => statusOf('render'),
      (status) => stalled(status)?.status === 'True',
      'render is not stalled',
    );
    assert.equal(stalled(waiting)?.reason, 'NoAgentWithCapabilities');
    assert.match(stalled(waiting)?.message ?? '', /gpu/);
    await place.must('apply', '-f', await file(agent('painter', { capabilities: ['gpu'] })));
    assert.deepEqual(
      [(await ended('render')).agent, stalled(await statusOf('render'))?.status],
      ['painter', 'False'],
    );
    await place.must('delete', 'agent', 'painter');
  });

  it('run in a sandbox or pod of their own, which is gone afterwards', async () => {
    const status = await ended(await make(task('alone', 'say', { text: 'alone' }, { isolation: 'Pod' })));
    assert.equal(status.phase, 'Succeeded', JSON.stringify(status));
    assert.match(status.agent ?? '', /^alone-[0-9a-f]{8}-1$/);
    const { content } = JSON.parse(status.result?.content ?? '{}') as { content: [{ text: string }] };
    assert.equal((JSON.parse(content[0].text) as { agent: string }).agent, status.agent);
    await gone('agents', ({ metadata }) => metadata.name === status.agent);
    assert.equal(await count('say-alone'), 0);
  });

  it('go after their time to live', async () => {
    await make(task('brief', 'say', { text: 'brief' }, { ttlSecondsAfterFinished: 1 }));
    await until(
      () => count('say-brief'),
      (times) => times === 1,
      'brief has not run',
    );
    await gone('tasks', ({ metadata }) => metadata.name === 'brief');
  });

  it('that were killed with their agent-server end as their policy says', async () => {
    for (const [name, retry, expected] of [
      ['once', undefined, ['Failed', 1, 'Interrupted']],
      ['twice', { limit: 1 }, ['Succeeded', 2, 'Succeeded']],
    ] as const) {
      await make(task(name, 'die', { id: name }, retry && { retry }));
      await inPhase(name, 'Running');
      await (place.kind === 'cluster' ? killPod() : killServer());
      const status = await ended(name);
      assert.deepEqual([status.phase, status.attempts, complete(status)], expected, JSON.stringify(status));
    }
  });

  async function killPod(): Promise<void> {
    const selector = ['-l', 'ploinky.dev/agent=worker'];
    const { code = 1 } =
      (await place.kubectl?.('delete', 'pods', ...selector, '--force', '--grace-period=0', '--wait=false')) ??
      {};
    assert.equal(code, 0);
  }
  async function killServer(): Promise<void> {
    const records = readRecords(await locateWorkspace(place.folder, process.env));
    const shim = records.find(({ workload }) => workload.name === 'worker')?.shim.pid;
    const server = descendants(shim ?? 0).find(({ about }) => about.includes('/Agent/agent-server.mjs'));
    assert.ok(server, 'the agent-server is not below its shim');
    process.kill(server.pid, 'SIGKILL');
  }

  it('are made by a schedule, and end with it', async () => {
    const schedule = { cron: '* * * * *' };
    await make(task('tick', 'say', { text: 'tick' }, { schedule }));
    await inPhase('tick', 'Scheduled');
    const isMade = ({ metadata }: Listed) => metadata.labels?.['ploinky.dev/scheduled-by'] === 'tick';
    const [made] = (
      await until(
        () => list('tasks'),
        (listed) => listed.some(isMade),
        'nothing was made',
      )
    ).filter(isMade);
    assert.ok(made);
    const minute = Number(made.metadata.name.replace('tick-', ''));
    assert.ok(Math.abs(minute - Date.now() / 60_000) < 2, made.metadata.name);
    assert.equal((await ended(made.metadata.name)).phase, 'Succeeded');
    assert.equal(
      (await statusOf('tick')).lastScheduleTime,
      new Date(minute * 60_000).toISOString().replace('.000', ''),
    );
    await place.must('delete', 'task', 'tick');
    await gone('tasks', isMade);
  });
});
