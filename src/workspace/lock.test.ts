import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { codeOf } from '#kit/errors.ts';
import { systemRandom } from '#kit/random.ts';
import { findHolder, holderOf, takeLock } from './lock.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lock-'));
});
after(() => rm(folder, { recursive: true }));

const source = `
  import { systemRandom } from '#kit/random.ts';
  import { holderOf, takeLock } from '#workspace/lock.ts';
  takeLock(process.argv[1], holderOf(process.pid, 'http://127.0.0.1:1', 0), systemRandom).then(
    () => { console.log('taken'); setInterval(() => undefined, 1000); },
    (error) => { console.log(error.code); },
  );
`;

function contend(where: string) {
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', source, where], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const answer = once(child.stdout, 'data').then(([data]) => String(data).trim());
  return { child, answer };
}

test('a free lock is taken and a second taker is told pid and URL', { timeout: 20_000 }, async () => {
  const where = join(folder, 'one');
  await takeLock(where, holderOf(process.pid, 'http://127.0.0.1:8080', 5), systemRandom);
  assert.equal((await findHolder(where))?.pid, process.pid);
  const again = takeLock(where, holderOf(process.pid, 'x', 6), systemRandom);
  await assert.rejects(again, (error: Error) => {
    assert.equal(codeOf(error), 'AlreadyRunning');
    assert.ok(error.message.includes(`pid ${process.pid}, http://127.0.0.1:8080`), error.message);
    return true;
  });
});

test('nobody holds a lock in a folder that does not exist', async () => {
  assert.equal(await findHolder(join(folder, 'absent')), undefined);
});

test('the lock dies with its holder, and of many contenders exactly one gets it', {
  timeout: 60_000,
}, async () => {
  const where = join(folder, 'many');
  const first = contend(where);
  assert.equal(await first.answer, 'taken');
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');
  assert.equal(await findHolder(where), undefined);
  const contenders = Array.from({ length: 5 }, () => contend(where));
  try {
    const answers = await Promise.all(contenders.map((contender) => contender.answer));
    assert.deepEqual(answers.sort(), [...Array(4).fill('AlreadyRunning'), 'taken']);
    assert.equal((await readdir(where)).filter((name) => name.startsWith('lock.')).length, 1);
  } finally {
    for (const { child } of contenders) child.kill('SIGKILL');
  }
});

test('a record left by a process whose pid was given to another one does not hold the lock', async () => {
  const where = join(folder, 'reused');
  const stale = holderOf(process.pid, 'old', 1);
  assert.ok(stale.identity, 'this test needs /proc');
  await takeLock(where, { ...stale, identity: { ...stale.identity, startTime: '1' } }, systemRandom);
  assert.equal(await findHolder(where), undefined);
  await takeLock(where, holderOf(process.pid, 'new', 2), systemRandom);
  assert.equal((await findHolder(where))?.url, 'new');
});
