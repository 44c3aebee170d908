import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '#kit/clock.ts';
import { eventually, spawnerCommand, testSpawner as spawnerWith, testPath } from '../testing/harness.ts';
import { type Outcome, runCommand } from './run-command.ts';
import type { RunningCall, Spawner } from './spawner-client.ts';
import type { Template } from './spawner-protocol.ts';

const timeout = 60_000;

function template(script: string, changes: Partial<Template> = {}): Template {
  return {
    file: '/bin/sh',
    args: ['-c', script],
    cwd: '/',
    env: { PATH: testPath },
    maxStdout: 1_000_000,
    maxStderr: 10_000,
    maxEvent: 10_000,
    graceMs: 300,
    prewarm: 0,
    ...changes,
  };
}

interface Options {
  readonly stdin?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly onEvent?: (line: Buffer, run: RunningCall) => void;
}

function run(spawner: Spawner, id: number, options: Options = {}): Promise<Outcome> {
  return runCommand({
    spawner,
    clock: systemClock,
    template: id,
    stdin: options.stdin ?? '',
    timeoutMs: options.timeoutMs ?? 30_000,
    signal: options.signal ?? new AbortController().signal,
    ...(options.onEvent !== undefined && { onEvent: options.onEvent }),
  });
}

function exited(outcome: Outcome) {
  assert.equal(outcome.type, 'exited');
  return { ...outcome.exit, stdout: outcome.stdout.toString(), stderr: outcome.stderr.toString() };
}

/** pids of living processes whose command line holds `mark`. */
function alive(mark: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const state = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.[0];
        return state !== 'Z' && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(mark);
      } catch {
        return false;
      }
    })
    .map(Number)
    .filter((pid) => pid !== process.pid);
}

/** A number of seconds for `sleep` that no other process sleeps. */
let marks = 0;
const uniqueSleep = () => `4${process.pid}${String(++marks).padStart(4, '0')}`;

const isBuilt = existsSync(new URL('../../../dist/reaper', import.meta.url));
const modes = [
  {
    name: 'With the reaper',
    command: spawnerCommand,
    skip: isBuilt ? false : 'dist/reaper is not built; `npm run build` makes it where there is a C compiler',
  },
  {
    name: 'Without the reaper',
    command: [...spawnerCommand, '--without-reaper'] as typeof spawnerCommand,
    skip: false,
  },
] as const;

for (const { name: mode, command, skip } of modes)
  describe(mode, { skip }, () => {
    const testSpawner = (t: TestContext, own = command) => spawnerWith(t, own);
    function runScript(
      t: TestContext,
      script: string,
      changes: Partial<Template> = {},
      options: Options = {},
    ) {
      const spawner = testSpawner(t);
      return run(spawner, spawner.define(template(script, changes)), options);
    }

    test('a process gets its stdin and gives its stdout, stderr and exit code', { timeout }, async (t) => {
      const outcome = await runScript(t, 'cat; echo problem >&2; exit 3', {}, { stdin: 'hello\n' });
      assert.deepEqual(exited(outcome), {
        code: 3,
        signal: null,
        overflow: false,
        stdout: 'hello\n',
        stderr: 'problem\n',
      });
    });

    test('a process has exactly the environment of its template, the marker, and descriptors 0 to 3', {
      timeout,
    }, async (t) => {
      process.env['SPAWNER_TEST_SECRET'] = 'must not be seen';
      t.after(() => delete process.env['SPAWNER_TEST_SECRET']);
      const { stdout } = exited(
        await runScript(t, '', { file: '/usr/bin/env', args: [], env: { A: '1', B: 'two words' } }),
      );
      const names = stdout
        .trim()
        .split('\n')
        .map((line) => line.split('=')[0]);
      assert.deepEqual(names.sort(), ['A', 'B', 'PLOINKY_CALL']);
      const descriptors = exited(await runScript(t, 'ls -m /proc/self/fd'));
      // The last one is the folder that ls itself reads.
      assert.equal(descriptors.stdout.trim(), '0, 1, 2, 3, 4');
    });

    test('a program that is not there is told in the words of Node', { timeout }, async (t) => {
      const outcome = await runScript(t, '', { file: '/code/nope.sh', args: [] });
      assert.deepEqual(outcome, {
        type: 'failed',
        failure: { code: 'ENOENT', message: 'spawn /code/nope.sh ENOENT' },
      });
    });

    test('output over the limit ends the call, and what came before is kept', { timeout }, async (t) => {
      const started = performance.now();
      const outcome = exited(await runScript(t, 'yes', { maxStdout: 200_000 }));
      assert.equal(outcome.overflow, true);
      assert.equal(outcome.stdout.length, 200_000);
      assert.ok(performance.now() - started < 10_000);
    });

    test('stderr over its limit is dropped and the call goes on', { timeout }, async (t) => {
      const outcome = exited(
        await runScript(t, 'head -c 300000 /dev/zero >&2; echo done', { maxStderr: 1000 }),
      );
      assert.deepEqual([outcome.code, outcome.stdout, outcome.stderr.length], [0, 'done\n', 1000]);
    });

    const stubborn: Record<string, (seconds: string) => string> = {
      'a child in the same group': (s) => `sleep ${s} & sleep ${s}`,
      'a child that ignores SIGTERM': (s) => `trap '' TERM; sh -c "trap '' TERM; sleep ${s}"; sleep ${s}`,
      'a child in a session of its own': (s) => `setsid sleep ${s} & sleep ${s}`,
      'a double-forked daemon': (s) =>
        `(setsid sh -c 'sleep ${s} >/dev/null 2>&1 </dev/null & ' &) ; sleep ${s}`,
      'a daemon with an empty environment': (s) =>
        `(setsid env -i /bin/sh -c '/bin/sleep ${s} & ' &) ; sleep ${s}`,
    };
    for (const [name, script] of Object.entries(stubborn)) {
      test(`a timeout leaves nothing of ${name}`, { timeout }, async (t) => {
        const seconds = uniqueSleep();
        const started = performance.now();
        const outcome = await runScript(t, script(seconds), {}, { timeoutMs: 300 });
        assert.equal(outcome.type, 'timeout');
        assert.ok(performance.now() - started < 5000);
        assert.deepEqual(alive(`sleep\0${seconds}`), []);
      });
    }

    test('without the spawner the daemon of a killed group lives on, so that the tests above prove something', {
      timeout,
    }, async (t) => {
      const seconds = uniqueSleep();
      const { spawn } = await import('node:child_process');
      const child = spawn('/bin/sh', ['-c', stubborn['a double-forked daemon']?.(seconds) ?? ''], {
        detached: true,
      });
      await eventually('the daemon runs', () => alive(`sleep\0${seconds}`).length === 2);
      process.kill(-(child.pid ?? 0), 'SIGKILL');
      await eventually('the group is gone', () => alive(`sleep\0${seconds}`).length < 2);
      await sleep(300);
      const survivors = alive(`sleep\0${seconds}`);
      for (const pid of survivors) process.kill(pid, 'SIGKILL');
      assert.equal(survivors.length, 1);
      t.diagnostic('one survivor, as expected');
    });

    test('a cancelled call is killed and rejects with the reason', { timeout }, async (t) => {
      const seconds = uniqueSleep();
      const controller = new AbortController();
      const outcome = runScript(t, `sleep ${seconds}`, {}, { signal: controller.signal });
      await eventually('it runs', () => alive(`sleep\0${seconds}`).length > 0);
      controller.abort(new Error('enough'));
      await assert.rejects(outcome, /enough/);
      assert.deepEqual(alive(`sleep\0${seconds}`), []);
    });

    test('what a call leaves behind ends with it: in its group at once, in another session soon', {
      timeout,
    }, async (t) => {
      const near = uniqueSleep();
      const far = uniqueSleep();
      const outcome = await runScript(
        t,
        `sleep ${near} >/dev/null 2>&1 3>&1 & setsid sleep ${far} >/dev/null 2>&1 3>&1 & sleep 0.2; echo ok`,
      );
      assert.equal(exited(outcome).stdout, 'ok\n');
      assert.deepEqual(alive(`sleep\0${near}`), []);
      await eventually('the other session is gone too', () => alive(`sleep\0${far}`).length === 0);
    });

    test('a grandchild that holds stdout open does not delay the answer', { timeout }, async (t) => {
      const started = performance.now();
      const outcome = await runScript(t, `sleep ${uniqueSleep()} & echo ok`);
      assert.equal(exited(outcome).stdout, 'ok\n');
      assert.ok(performance.now() - started < 3000);
    });

    test('lines on descriptor 3 arrive whole, and answers reach the process', { timeout }, async (t) => {
      const lines: string[] = [];
      const script =
        'printf \'{"progress":1}\\n{"log"\' >&3; printf \':{}}\\n\' >&3; read answer <&3; echo "got $answer"';
      const outcome = await runScript(
        t,
        script,
        {},
        {
          onEvent(line, call) {
            lines.push(line.toString());
            if (lines.length === 2) call.answer('yes');
          },
        },
      );
      assert.deepEqual(lines, ['{"progress":1}', '{"log":{}}']);
      assert.equal(exited(outcome).stdout, 'got yes\n');
    });

    test('prewarmed processes wait, serve one call each and are replaced', { timeout }, async (t) => {
      const spawner = testSpawner(t);
      const mark = `prewarm-${process.pid}`;
      const id = spawner.define(template(`: ${mark}; read line; echo "$$ $line"`, { prewarm: 2 }));
      await eventually('two wait', () => alive(mark).length === 2);
      const waiting = alive(mark);
      const first = exited(await run(spawner, id, { stdin: 'a\n' }))
        .stdout.trim()
        .split(' ');
      const second = exited(await run(spawner, id, { stdin: 'b\n' }))
        .stdout.trim()
        .split(' ');
      assert.ok(waiting.includes(Number(first[0])));
      assert.deepEqual([first[1], second[1]], ['a', 'b']);
      assert.notEqual(first[0], second[0]);
      await eventually('two wait again', () => alive(mark).length === 2);
      spawner.forget(id);
      await eventually('none waits any more', () => alive(mark).length === 0);
    });

    test('a template whose processes do not wait is not started for ever', { timeout }, async (t) => {
      const spawner = testSpawner(t);
      const id = spawner.define(template('echo at once', { prewarm: 3 }));
      await sleep(500);
      assert.equal(exited(await run(spawner, id)).stdout, 'at once\n');
    });

    test('when the spawner is killed, its calls fail, nothing of them lives on, and the next call works', {
      timeout,
    }, async (t) => {
      const spawner = testSpawner(t);
      const seconds = uniqueSleep();
      const id = spawner.define(template(`setsid sleep ${seconds} & sleep ${seconds}`));
      const echo = spawner.define(template('echo still here'));
      const call = run(spawner, id);
      await eventually('it runs', () => alive(`sleep\0${seconds}`).length === 2);
      process.kill(spawner.pid ?? 0, 'SIGKILL');
      assert.deepEqual(await call, { type: 'lost' });
      assert.equal(exited(await run(spawner, echo)).stdout, 'still here\n');
      await eventually('the orphans are swept', () => alive(`sleep\0${seconds}`).length === 0);
    });

    test('when the agent-server goes away, every process ends', { timeout }, async (t) => {
      const spawner = testSpawner(t);
      const seconds = uniqueSleep();
      const id = spawner.define(template(`setsid sleep ${seconds} & sleep ${seconds}`));
      const call = run(spawner, id);
      await eventually('it runs', () => alive(`sleep\0${seconds}`).length === 2);
      await spawner.close();
      assert.deepEqual(await call, { type: 'lost' });
      assert.deepEqual(alive(`sleep\0${seconds}`), []);
    });

    test('a call for which no descriptors are left fails alone; the others go on', { timeout }, async (t) => {
      const script = 'ulimit -n 48; exec "$0" "$@"';
      const spawner = testSpawner(t, ['/bin/sh', '-c', script, ...command]);
      const id = spawner.define(template('sleep 1; echo done'));
      const { pid } = spawner;
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => run(spawner, id)));
      const failures = outcomes.flatMap((outcome) =>
        outcome.type === 'failed' ? [outcome.failure.code] : [],
      );
      assert.ok(failures.length > 0 && failures.length < 20, `${failures.length} of 20 failed`);
      assert.deepEqual([...new Set(failures)], ['EMFILE']);
      for (const outcome of outcomes) {
        if (outcome.type !== 'failed') assert.equal(exited(outcome).stdout, 'done\n');
      }
      assert.equal(spawner.pid, pid);
    });

    test('300 calls at once in tens leave neither process nor zombie', { timeout }, async (t) => {
      const spawner = testSpawner(t);
      const id = spawner.define(template('cat'));
      for (let round = 0; round < 30; round++) {
        const outcomes = await Promise.all(
          Array.from({ length: 10 }, (_, n) => run(spawner, id, { stdin: `${round}.${n}` })),
        );
        assert.deepEqual(
          outcomes.map((outcome) => exited(outcome).stdout),
          Array.from({ length: 10 }, (_, n) => `${round}.${n}`),
        );
      }
      assert.deepEqual(childrenOf(spawner.pid ?? 0), []);
    });
  });

/** Zombies included. */
function childrenOf(parent: number): string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return (
        /^\d+$/.test(name) &&
        readFileSync(`/proc/${name}/stat`, 'latin1').split(') ')[1]?.split(' ')[1] === String(parent)
      );
    } catch {
      return false;
    }
  });
}
