import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createPlace, missingPlace, type Place } from '#test/fixtures/place/place.ts';
import { missingTerminal, startAtTerminal } from '#test/fixtures/terminal/terminal.ts';

// `ploinky task` and `ploinky top` as a person uses them, and as a script does.

const agent = {
  apiVersion: 'ploinky.dev/v1alpha1',
  kind: 'Agent',
  metadata: { name: 'worker' },
  spec: {
    mcp: {
      tools: [
        {
          name: 'steps',
          description: 'Takes three steps.',
          // Progress is a line of JSON on descriptor 3.
          command:
            'for i in 1 2 3; do echo "{\\"progress\\": $i, \\"total\\": 4, \\"message\\": \\"step $i\\"}" >&3; echo "did $i"; sleep 1; done',
        },
        { name: 'long_nap', description: 'Takes a minute.', command: 'echo asleep; sleep 60' },
        { name: 'fail', description: 'Fails.', command: 'echo no such luck >&2; exit 3' },
        {
          name: 'large',
          description: 'Says much.',
          command: 'head -c 200000 /dev/zero | tr "\\0" x; echo END',
        },
        {
          name: 'flaky',
          description: 'Succeeds at the second attempt.',
          command:
            'if [ -e "$WORKSPACE_PATH/tried" ]; then echo well; else touch "$WORKSPACE_PATH/tried"; exit 1; fi',
        },
      ],
    },
  },
};

interface Listed {
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

interface Known {
  readonly metadata: { readonly name: string; readonly annotations?: Record<string, string> };
  readonly spec: Record<string, unknown>;
  readonly status: {
    readonly phase: string;
    readonly attempts: number;
    readonly result?: { readonly content: string };
  };
}

describe('ploinky task', { skip: missingPlace, timeout: 900_000 }, () => {
  let place: Place;
  before(async () => {
    place = await createPlace({ examples: ['hello'] });
    const file = join(place.folder, 'worker.json');
    await writeFile(file, JSON.stringify(agent));
    await place.up(file);
  });
  after(() => place?.remove());

  const task = (...args: string[]) => place.ploinky('task', ...args);
  const get = async (name: string) =>
    JSON.parse(await place.must('task', 'get', name, '-o', 'json')) as Known;
  const detach = async (...args: string[]) =>
    (await place.must('task', 'run', ...args, '--detach', '-o', 'name'))
      .trim()
      .replace('task.ploinky.dev/', '');

  it('runs a tool, waits and prints what it answers', async () => {
    const outcome = await task('run', 'hello', 'greet', 'name=Ana');
    assert.deepEqual([outcome.code, outcome.stdout], [0, 'Hello, Ana!\n'], outcome.stderr);
    assert.match(outcome.stderr, /^task greet-[a-z0-9]+ created\n/);
  });

  it('takes arguments from a file and from standard input, and gives the Task as data', async () => {
    const file = join(place.folder, 'input.json');
    await writeFile(file, '{"name": "Eve"}');
    const json = await place.must('task', 'run', 'hello', 'greet', '--input', file, '-o', 'json');
    const made = JSON.parse(json) as Known;
    assert.deepEqual([made.spec['input'], made.status.phase], [{ name: 'Eve' }, 'Succeeded']);
    assert.equal(await place.must('task', 'get', made.metadata.name, '--result'), 'Hello, Eve!\n');
  });

  const wrong: [string, string[], number, RegExp][] = [
    ['an agent that is not there', ['run', 'nobody', 'greet'], 4, /nobody/],
    ['a tool that the agent has not', ['run', 'hello', 'gret'], 4, /Did you mean greet\?/],
    ['an argument that the tool has not', ['run', 'hello', 'greet', 'nam=x'], 2, /Did you mean name\?/],
    ['an argument that is missing', ['run', 'hello', 'greet'], 2, /parameter name is missing/],
    ['a priority that is none', ['run', 'hello', 'greet', '--priority', 'x'], 2, /Allowed choices are low/],
    ['a name that no object may have', ['run', 'hello', 'greet', 'name=x', '--name', 'A_B'], 5, /A_B/],
    ['a Task that is not there', ['wait', 'nothing'], 4, /there is no task nothing/],
    ['the log of a Task that is not there', ['logs', 'nothing'], 4, /nothing/],
  ];
  for (const [name, args, code, message] of wrong) {
    it(`answers ${name} with exit code ${code}`, async () => {
      const outcome = await task(...args);
      assert.equal(outcome.code, code, outcome.stderr);
      assert.match(outcome.stderr, message);
    });
  }

  it('exits with 7 when the tool fails, and says what it said', async () => {
    const outcome = await task('run', 'worker', 'fail');
    assert.equal(outcome.code, 7);
    assert.match(`${outcome.stdout}${outcome.stderr}`, /no such luck/);
    assert.match(outcome.stderr, /error: task fail-[a-z0-9]+ ended as Failed/);
  });

  it('runs a failed attempt again when it is asked to', async () => {
    const json = await place.must('task', 'run', 'worker', 'flaky', '--retry', '2', '-o', 'json');
    const { status } = JSON.parse(json) as Known;
    assert.deepEqual([status.phase, status.attempts], ['Succeeded', 2]);
  });

  it('reads a result that is too large for its Task from the agent', async () => {
    const outcome = await task('run', 'worker', 'large');
    assert.equal(outcome.code, 0, outcome.stderr);
    assert.ok(/^x{200000}END\n+$/.test(outcome.stdout), outcome.stdout.slice(-200));
  });

  it('lists by agent and phase, in the order of age', async () => {
    const all = JSON.parse(await place.must('task', 'list', '-o', 'json')) as Listed;
    const names = all.items.map(({ metadata }) => metadata.name);
    assert.ok(names.length >= 4, names.join());
    const failed = await place.must('task', 'list', '-a', 'worker', '--phase', 'Failed');
    assert.match(
      failed,
      /^NAME +AGENT +TOOL +PHASE +ATTEMPTS +AGE\nfail-[a-z0-9]+ +worker +fail +Failed +1 +\S+\n$/,
    );
    const none = await task('list', '-a', 'nobody');
    assert.deepEqual([none.code, none.stdout], [0, '']);
  });

  it('follows the log to the end', async () => {
    const name = await detach('worker', 'steps');
    const outcome = await task('logs', name, '-f');
    assert.deepEqual([outcome.code, outcome.stdout], [0, 'did 1\ndid 2\ndid 3\n'], outcome.stderr);
    assert.equal((await get(name)).status.phase, 'Succeeded');
    assert.equal(await place.must('task', 'logs', name), 'did 1\ndid 2\ndid 3\n');
  });

  it('waits for several, and says which were late', async () => {
    const names = [await detach('worker', 'steps'), await detach('hello', 'greet', 'name=Ana')];
    const late = await detach('worker', 'long_nap');
    const ended = await task('wait', ...names);
    assert.equal(ended.code, 0, ended.stderr);
    assert.match(ended.stdout, /Succeeded[\s\S]*Succeeded/);
    const outcome = await task('wait', late, '--timeout', '1');
    assert.equal(outcome.code, 6);
    assert.match(outcome.stderr, new RegExp(`not ended within 1 s: ${late}`));
    await place.must('task', 'cancel', late);
  });

  it('cancels what runs, keeps the Task, and runs it again', async () => {
    const name = await detach('worker', 'long_nap', '--name', 'nap');
    assert.equal(name, 'nap');
    assert.equal((await task('retry', 'nap')).code, 2);
    const cancelled = await task('cancel', 'nap');
    assert.deepEqual(
      [cancelled.code, cancelled.stdout],
      [0, 'task.ploinky.dev/nap cancelled\n'],
      cancelled.stderr,
    );
    assert.equal((await get('nap')).status.phase, 'Cancelled');
    assert.equal((await task('wait', 'nap')).code, 7);
    const again = await place.must('task', 'retry', 'nap', '--detach', '-o', 'json');
    const { metadata, spec } = JSON.parse(again) as Known;
    assert.equal(metadata.annotations?.['ploinky.dev/retry-of'], 'nap');
    assert.equal(spec['tool'], 'long_nap');
    await place.must('task', 'cancel', metadata.name);
    assert.match((await task('cancel', 'nap')).stdout, /nap cancelled/);
  });

  it('shows progress at a terminal; Ctrl-C ends the wait and not the Task', {
    skip: missingTerminal,
  }, async () => {
    const person = startAtTerminal(place.start('task', 'run', 'worker', 'steps', '--name', 'shown'));
    await person.reads('shown Running');
    await person.reads('step 2');
    person.types('\u0003');
    const { code, shown } = await person.ended;
    assert.equal(code, 130, shown);
    assert.match(shown, /Task shown goes on/);
    assert.equal((await task('wait', 'shown')).code, 0);
  });

  it('shows what waits and runs', async () => {
    const name = await detach('worker', 'long_nap');
    const running = async () => (await place.must('top', '--once', '-a', 'worker')).includes('long_nap');
    for (let tries = 0; !(await running()); tries += 1) assert.ok(tries < 50, 'it never ran');
    const { agents } = JSON.parse(await place.must('top', '-o', 'json')) as {
      agents: { agent: string; queue: { running: number; tasks: { tool: string }[] } }[];
    };
    const worker = agents.find((each) => each.agent === 'worker');
    assert.deepEqual([worker?.queue.running, worker?.queue.tasks[0]?.tool], [1, 'long_nap']);
    assert.ok(agents.some((each) => each.agent === 'hello'));
    await place.must('task', 'cancel', name);
  });

  it('draws the queues again and again at a terminal', { skip: missingTerminal }, async () => {
    const person = startAtTerminal(place.start('top'));
    for (const _drawn of [1, 2]) await person.reads('CANCELLED');
    person.types('\u0003');
    assert.equal((await person.ended).code, 130);
  });

  it('runs a task in a place of its own', async () => {
    const name = await detach('worker', 'steps', '--isolation', 'Pod');
    const log = await task('logs', name, '-f');
    assert.match(log.stdout, /^did 1\n/, log.stderr);
    assert.equal((await task('wait', name)).code, 0);
    assert.equal(await place.must('task', 'get', name, '--result'), 'did 1\ndid 2\ndid 3\n\n');
  });

  it('says what a task waits for, and goes on with it', async () => {
    await place.must('scale', 'hello', '--replicas', '0');
    const outcome = await task('run', 'hello', 'greet', 'name=Ana', '--name', 'patient', '--detach');
    assert.match(outcome.stderr, /The tools of hello are not known now/);
    const late = await task('wait', 'patient', '--timeout', '3');
    assert.deepEqual([late.code, /hello" is not Ready/.test(late.stderr)], [6, true], late.stderr);
    await place.must('scale', 'hello', '--replicas', '1');
    assert.equal((await task('wait', 'patient')).code, 0);
  });
});
