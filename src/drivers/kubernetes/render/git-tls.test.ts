import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { type Certificates, makeCertificates } from '#test/fixtures/git-server/certificates.ts';
import { gitRemedy } from '../observe/git-remedies.ts';
import { settings, workloadOf } from '../testing.ts';
import { gitConfig, gitPart } from './git.ts';

const missing = ['git', 'openssl'].find((name) => spawnSync(name, ['--version']).error !== undefined);
const server = join(import.meta.dirname, '../../../../test/fixtures/git-server/server.mjs');

// The script as the container has it, against a real server: only its fixed places are others here.
describe('the fetch from a server with an authority of its own', {
  skip: missing === undefined ? false : `${missing} is not installed`,
}, () => {
  let folder: string;
  let own: Certificates;
  let other: Certificates;
  let process_: ChildProcess;
  let at: { port: number; commit: string };
  const place = (name: string) => join(folder, name);

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'fetch-tls-'));
    own = makeCertificates(folder, 'own', '127.0.0.1');
    other = makeCertificates(folder, 'other', '127.0.0.1');
    writeFileSync(place('password'), 'me:s3cret\n');
    mkdirSync(place('served'));
    process_ = spawn(process.execPath, [server, place('served'), '0', '127.0.0.1'], {
      env: {
        PATH: process.env['PATH'],
        TLS_CERT: place('own-cert.pem'),
        TLS_KEY: place('own-key.pem'),
        CREDENTIAL: place('password'),
        REPOSITORY: JSON.stringify({ 'tool.sh': 'echo fetched' }),
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(process_.stdout as NonNullable<ChildProcess['stdout']>, 'data')) as [Buffer];
    at = JSON.parse(line.toString());
  });
  after(async () => {
    const ended = once(process_, 'exit');
    process_.kill();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    for (const name of ['code', 'ca', 'credential']) {
      rmSync(place(name), { recursive: true, force: true });
      mkdirSync(place(name));
    }
  });

  /** Fetches as a pod would whose mounts have these contents. */
  function fetch({ ca, credential }: { ca?: string; credential?: string }) {
    if (ca !== undefined) writeFileSync(place('ca/ca.crt'), ca);
    if (credential !== undefined) writeFileSync(place('credential/credential'), credential);
    const workload = workloadOf({
      code: {
        type: 'git',
        url: `https://127.0.0.1:${at.port}/agents.git`,
        credentials: { name: 'token', key: 'token' },
        ca: { configMapKeyRef: { name: 'authority', key: 'ca.crt' } },
      },
      fetchToken: 't',
    });
    const here = (text: string) =>
      text
        .replaceAll('/etc/ploinky/git-credential', place('credential'))
        .replaceAll('/etc/ploinky/git-ca', place('ca'))
        .replaceAll('/dev/termination-log', place('log'))
        .replaceAll('cd /code', `cd ${place('code')}`);
    const [container] = gitPart(workload, settings).init;
    const script = container?.command?.at(-1)?.replaceAll('$$', '$') ?? '';
    const env = Object.entries(gitConfig(workload, settings, undefined)?.env ?? {})
      .filter(([name]) => /^(GIT|PLOINKY_GIT)_/.test(name))
      .map(([name, value]) => [name, here(value)]);
    return spawnSync('sh', ['-c', here(script)], {
      encoding: 'utf8',
      env: { ...Object.fromEntries(env), PATH: process.env['PATH'], HOME: place('code') },
    });
  }

  it('trusts the authority that the Agent names, and gives the server the credential', () => {
    const { status, stderr } = fetch({ ca: own.authority, credential: 'me:s3cret' });
    assert.equal(status, 0, stderr);
    assert.equal(readFileSync(place('code/tool.sh'), 'utf8'), 'echo fetched');
    assert.equal(readFileSync(place('log'), 'utf8').trim(), at.commit);
  });
  it('trusts no other, and says what to do', () => {
    for (const given of [{ ca: other.authority }, {}]) {
      const { status, stderr } = fetch({ ...given, credential: 'me:s3cret' });
      assert.notEqual(status, 0);
      assert.match(gitRemedy(stderr), /spec\.code\.git\.ca/, stderr);
    }
  });
  it('says which Secret to mend when the server refuses the credential', () => {
    const { status, stderr } = fetch({ ca: own.authority, credential: 'me:wrong' });
    assert.notEqual(status, 0);
    assert.match(gitRemedy(stderr), /spec\.code\.git\.credentials/, stderr);
  });
});

describe('what to do about a fetch that failed', () => {
  it('is said for what the egress rules close and for a ref that is not there, and not made up', () => {
    assert.match(gitRemedy('fatal: CONNECT tunnel failed, response 403'), /installEgress/);
    assert.match(gitRemedy("error: pathspec 'x' did not match any file(s) known to git"), /git\.ref/);
    assert.equal(gitRemedy('fatal: the remote end hung up unexpectedly'), '');
    assert.equal(gitRemedy(), '');
  });
});
