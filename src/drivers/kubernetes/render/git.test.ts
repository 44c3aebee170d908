import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Workload } from '../../workload.ts';
import { settings, workloadOf } from '../testing.ts';
import { gitConfig, gitPart, isPinned } from './git.ts';

const hasGit = spawnSync('git', ['--version']).status === 0;
type Git = Extract<Workload['code'], { type: 'git' }>;

// The script as the container has it, on a repository of this machine: only its two fixed places are others here.
describe('the fetch of a git source', { skip: hasGit ? false : 'git is not installed' }, () => {
  let folder: string;
  let first: string;
  let second: string;
  const place = (name: string) => join(folder, name);
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', place('origin'), '-c', 'user.name=a', '-c', 'user.email=a@a.test', ...args], {
      encoding: 'utf8',
    }).trim();

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'fetch-'));
    mkdirSync(join(place('origin'), 'agents/demo'), { recursive: true });
    git('init', '-q', '-b', 'main');
    writeFileSync(place('origin/agents/demo/tool.mjs'), 'one');
    git('add', '.');
    git('commit', '-q', '-m', 'one');
    first = git('rev-parse', 'HEAD');
    git('tag', 'v1');
    writeFileSync(place('origin/agents/demo/tool.mjs'), 'two');
    git('commit', '-q', '-a', '-m', 'two');
    second = git('rev-parse', 'HEAD');
  });
  after(() => rmSync(folder, { recursive: true, force: true }));
  beforeEach(() => {
    rmSync(place('code'), { recursive: true, force: true });
    mkdirSync(place('code'));
    rmSync(place('log'), { force: true });
  });

  function fetch(source: Partial<Git>, commit?: string) {
    const code: Git = { type: 'git', url: 'https://git.test/a.git', ...source };
    const workload = workloadOf({ code, fetchToken: 't' });
    const [container] = gitPart(workload, settings).init;
    const script = container?.command?.at(-1)?.replaceAll('$$', '$') ?? '';
    const here = script.replaceAll('/code', place('code')).replaceAll('/dev/termination-log', place('log'));
    const own = gitConfig(workload, settings, commit)?.env ?? {};
    const env = { ...pick(own), PLOINKY_GIT_URL: place('origin'), GIT_ALLOW_PROTOCOL: 'file' };
    const ran = spawnSync('sh', ['-c', here], {
      encoding: 'utf8',
      env: { ...env, PATH: process.env['PATH'], HOME: place('code') },
    });
    const commitOf = () => readFileSync(place('log'), 'utf8').trim();
    return { ...ran, commit: ran.status === 0 ? commitOf() : undefined };
  }
  const pick = (env: Record<string, string>) =>
    Object.fromEntries(Object.entries(env).filter(([name]) => /^(GIT|PLOINKY_GIT)_/.test(name)));
  const tool = () => readFileSync(place('code/agents/demo/tool.mjs'), 'utf8');

  it('takes the newest commit and says which', () => {
    const { commit, stderr } = fetch({});
    assert.equal(commit, second, stderr);
    assert.equal(tool(), 'two');
    assert.deepEqual(readdirSync(place('code')), ['agents']);
  });
  it('takes a tag, a branch or a commit', () => {
    for (const [ref, wanted] of [
      ['v1', first],
      ['main', second],
      [first, first],
    ] as const) {
      assert.equal(fetch({ ref }).commit, wanted, ref);
    }
  });
  it('keeps to the commit that it is pinned to, whatever the branch says now', () => {
    assert.equal(fetch({ ref: 'main' }, first).commit, first);
    assert.equal(tool(), 'one');
  });
  it('begins anew after an attempt that broke off', () => {
    writeFileSync(place('code/left'), 'x');
    mkdirSync(place('code/.git'));
    assert.equal(fetch({}).commit, second);
    assert.deepEqual(readdirSync(place('code')), ['agents']);
  });
  it('says what is wrong', () => {
    assert.match(fetch({ path: 'agents/other' }).stderr, /no folder agents\/other/);
    assert.notEqual(fetch({ ref: 'none' }).status, 0);
  });
  it('takes no words of an Agent for commands', () => {
    const ref = `main; touch ${place('canary')} $(touch ${place('canary')})`;
    assert.notEqual(fetch({ ref }).status, 0);
    assert.ok(!readdirSync(folder).includes('canary'));
  });
  it('asks for a credential by the helper, which reads a token or a user and a password', () => {
    const env = gitConfig(
      workloadOf({ code: { type: 'git', url: 'https://git.test/a', credentials: { name: 'a', key: 'b' } } }),
      settings,
      undefined,
    )?.env;
    const helper = env?.['GIT_CONFIG_VALUE_1']?.replace('/etc/ploinky/git-credential', folder) ?? '';
    const ask = (credential: string) => {
      writeFileSync(place('credential'), credential);
      return execFileSync('git', ['-c', `credential.helper=${helper}`, 'credential', 'fill'], {
        input: 'protocol=https\nhost=git.test\n\n',
        encoding: 'utf8',
        env: { PATH: process.env['PATH'], HOME: folder, GIT_TERMINAL_PROMPT: '0' },
      });
    };
    assert.match(ask('s3cret'), /username=x-access-token\npassword=s3cret\n/);
    assert.match(ask('me:s3cret:x\n'), /username=me\npassword=s3cret:x\n/);
  });
});

describe('a git source', () => {
  const code = (ref?: string): Workload['code'] => ({
    type: 'git',
    url: 'https://git.test/a',
    ...(ref === undefined ? {} : { ref }),
  });
  it('is pinned by itself only when it names a whole commit', () => {
    assert.equal(isPinned(workloadOf({ code: code('a'.repeat(40)) })), true);
    assert.equal(isPinned(workloadOf({ code: code('main') })), false);
    assert.equal(isPinned(workloadOf({ code: code() })), false);
    assert.equal(isPinned(workloadOf()), true);
  });
});
