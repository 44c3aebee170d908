import assert from 'node:assert/strict';
import { createCipheriv, createHash, hkdfSync } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { systemRandom } from '#kit/random.ts';
import { findEnvFile, readForImport } from './env-file.ts';
import { splitEnvironment } from './environment.ts';
import type { MasterPlace } from './master.ts';
import type { StoredSecrets } from './sealed-file.ts';
import { openSecretStore } from './store.ts';

const seed = 'a seed of more than thirty-two characters';
const put = (name: string, value: string) => (stored: StoredSecrets) => ({
  ...stored,
  secrets: { ...stored.secrets, [name]: value },
});

describe('The store of a workspace’s secrets', () => {
  let folder: string;
  let path: string;
  let keyFile: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'secrets-'));
    path = join(folder, '.secrets');
    keyFile = join(folder, 'master.key');
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const open = (master: Partial<MasterPlace> = {}) =>
    openSecretStore({
      path,
      master: { seed: undefined, previousSeed: undefined, keyFile, ...master },
      random: systemRandom,
    });
  const names = async (store = open()) => Object.keys((await store.read()).secrets).sort();

  it('keeps what it was given, for its owner only and in no readable form', async () => {
    assert.deepEqual(await names(), []);
    await open().change(put('A', 'the value of A'));
    assert.equal((await open().read()).secrets['A'], 'the value of A');
    for (const file of [path, keyFile]) assert.equal(statSync(file).mode & 0o777, 0o600);
    const lying = Buffer.from(readFileSync(path, 'utf8'), 'base64').toString('latin1');
    assert.doesNotMatch(lying + readFileSync(path, 'utf8'), /the value of A|"A"|secrets/);
    assert.deepEqual(readdirSync(folder).sort(), ['.secrets', 'master.key']);
  });
  it('loses no change of many that come at once', async () => {
    const all = Array.from({ length: 20 }, (_, index) => `N${index}`);
    await Promise.all(all.map((name) => open().change(put(name, name))));
    assert.deepEqual(await names(), all.sort());
  });
  it('reads what another Ploinky wrote under the same seed', async () => {
    const master = createHash('sha256').update(seed).digest();
    const key = Buffer.from(hkdfSync('sha256', master, '', 'ploinky/storage/secrets/v1', 32));
    const nonce = Buffer.alloc(12, 3);
    const cipher = createCipheriv('aes-256-gcm', key, nonce);
    const body = Buffer.concat([cipher.update('{"version":1,"secrets":{"A":"$B"}}'), cipher.final()]);
    writeFileSync(path, Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64'));
    assert.deepEqual(await open({ seed }).read(), { secrets: { A: '$B' }, changed: {} });
  });
  it('is never silently empty: a lost key, another one, damage and clear text are errors that say what to do', async () => {
    await open().change(put('A', 'value'));
    const whole = readFileSync(path, 'utf8');
    const fails = async (code: string, message: RegExp, master: Partial<MasterPlace> = {}) => {
      await assert.rejects(open(master).read(), { code, message });
      await assert.rejects(open(master).change(put('B', 'x')), { code });
    };
    rmSync(keyFile);
    await fails('SecretsUnreadable', /has no master key/);
    assert.equal(readFileSync(path, 'utf8'), whole);
    await fails('SecretsUnreadable', /belongs to another master key, or it was changed/, { seed });
    for (const damaged of ['', '{}', whole.slice(0, 20), 'AAAA', `${whole.slice(0, -8)}AAAA\n`]) {
      writeFileSync(path, damaged);
      await fails('SecretsUnreadable', /damaged|cannot be decrypted/, { seed });
    }
    writeFileSync(path, 'A=1\nB=$A\n');
    await fails('SecretsPlain', /is not encrypted/);
  });
  it('refuses a weak seed and a key file that others may read', async () => {
    await assert.rejects(open({ seed: 'short' }).change(put('A', 'x')), { code: 'MasterKeyInvalid' });
    await open().change(put('A', 'x'));
    chmodSync(keyFile, 0o644);
    await assert.rejects(open().read(), { code: 'MasterKeyInvalid', message: /can be read by others/ });
    chmodSync(keyFile, 0o600);
    writeFileSync(keyFile, `${Buffer.alloc(32).toString('base64')}\n`);
    await assert.rejects(open().read(), { code: 'MasterKeyInvalid', message: /random bytes/ });
  });
  it('takes another key, and then knows nothing of the one before', async () => {
    await open().change(put('A', 'x'));
    const [before, sealed] = [readFileSync(keyFile, 'utf8'), readFileSync(path, 'utf8')];
    await open().rekey();
    assert.deepEqual(await names(), ['A']);
    const after = readFileSync(keyFile, 'utf8');
    assert.ok(!after.includes(before.trim()));
    // Cut before the file was written: the old one is still good.
    writeFileSync(keyFile, `${after}${before}`);
    writeFileSync(path, sealed);
    assert.deepEqual(await names(), ['A']);
    await open().rekey();
    writeFileSync(path, sealed);
    await assert.rejects(open().read(), { code: 'SecretsUnreadable' });
  });
  it('goes from the file’s key to a seed, and from one seed to the next', async () => {
    await open().change(put('A', 'x'));
    await open({ seed }).rekey();
    rmSync(keyFile);
    assert.deepEqual(await names(open({ seed })), ['A']);
    const next = `${seed}, the next`;
    await open({ seed: next, previousSeed: seed }).rekey();
    assert.deepEqual(await names(open({ seed: next })), ['A']);
    await assert.rejects(open({ seed }).read(), { code: 'SecretsUnreadable' });
  });
  it('encrypts nothing with a seed that is being left', async () => {
    await open({ seed }).change(put('A', 'x'));
    const leaving = { previousSeed: seed };
    await open(leaving).rekey();
    await open(leaving).change(put('B', 'y'));
    assert.deepEqual(await names(), ['A', 'B']);
    // Nor without a rekey.
    rmSync(keyFile);
    rmSync(path);
    await open({ seed }).change(put('A', 'x'));
    await open(leaving).change(put('B', 'y'));
    assert.deepEqual(await names(), ['A', 'B']);
  });
  it('is replaced by an import of itself only while it is what was imported', async () => {
    const text = 'A=1\n';
    const bring = (store = open()) => store.change(put('A', '1'), { anew: text });
    writeFileSync(path, text);
    await bring();
    await open().change(put('B', 'set since'));
    // Another import of the same file, which was read before the first one's end.
    await bring();
    assert.deepEqual(await names(), ['A', 'B']);
    writeFileSync(path, `${text}C=3\n`);
    await assert.rejects(bring(), { code: 'SecretsPlain' });
    assert.equal(readFileSync(path, 'utf8'), `${text}C=3\n`);
  });
  it('is not stopped by a command that was killed while it held the lock', async () => {
    const gone = { pid: 2 ** 22 + 1, url: '', startedAt: 0 };
    writeFileSync(`${path}.lock`, JSON.stringify(gone));
    await open().change(put('A', 'x'));
    assert.deepEqual(await names(), ['A']);
  });

  it('finds the nearest .env upwards, and what an import makes of it', async () => {
    const below = mkdtempSync(join(folder, 'a-'));
    writeFileSync(join(folder, '.env'), 'A=1\n');
    assert.equal(await findEnvFile(below, process.getuid?.() ?? 0), join(folder, '.env'));
    const text = [
      '# a comment',
      'export PLAIN=one # more',
      'QUOTED="two words"',
      "LITERAL='$PLAIN'",
      'ALIAS=$PLAIN',
      'A-B=1',
    ].join('\n');
    assert.deepEqual(readForImport(text), {
      secrets: { PLAIN: 'one', QUOTED: 'two words', LITERAL: '$$PLAIN', ALIAS: '$PLAIN' },
      wrong: ['A-B'],
    });
  });
});

describe('The environment of the workspace’s processes', () => {
  it('has what they need, and what could be a secret goes another way', () => {
    const { own, handed } = splitEnvironment({
      ...{ PATH: '/bin', XDG_RUNTIME_DIR: '/run', NODE_OPTIONS: '-x', PLOINKY_DEBUG: '1', LC_ALL: 'C' },
      ...{
        PLOINKY_MASTER_KEY: 'm',
        OPENAI_API_KEY: 'k',
        DATABASE_URL: 'u',
        NODE_AUTH_TOKEN: 't',
        'A.B': 'x',
      },
    });
    assert.deepEqual(Object.keys(own).sort(), [
      'LC_ALL',
      'NODE_OPTIONS',
      'PATH',
      'PLOINKY_DEBUG',
      'XDG_RUNTIME_DIR',
    ]);
    const rest = ['DATABASE_URL', 'NODE_AUTH_TOKEN', 'OPENAI_API_KEY', 'PLOINKY_MASTER_KEY'];
    assert.deepEqual(Object.keys(handed).sort(), rest);
  });
});
