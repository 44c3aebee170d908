import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { makeCertificates } from '#test/fixtures/git-server/certificates.ts';
import type { Installed } from '#test/fixtures/place/install.ts';
import { openWayIn, type WayIn } from '#test/fixtures/place/way-in.ts';
import { agent, conditionOf, isReady, type SeenAgent } from './agents.ts';
import { callTool } from './call.ts';
import { type Follower, follow } from './follow.ts';
import { type GitServer, startGitServer } from './git-server.ts';
import { installIn, missingCluster, openCluster, progress, type Space, seconds } from './product.ts';

const missing =
  missingCluster ||
  (spawnSync('openssl', ['version']).error !== undefined && 'openssl is not installed') ||
  false;

const authority = (key: string) => ({ ca: { configMapKeyRef: { name: 'authority', key } } });
const token = (key: string) => ({ credentials: { name: 'token', key } });

describe('Code from a git server with an authority of its own, through the egress proxy', {
  skip: missing,
  timeout: 570_000,
}, () => {
  let space: Space & Pick<Installed, 'remove'>;
  let server: GitServer;
  let agents: Follower<SeenAgent>;
  let way: WayIn;
  let folder: string;
  let other: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'git-'));
    space = await installIn(await openCluster([]), 'git');
    server = await startGitServer(space, folder, { 'agents/tell/tell.sh': 'echo "from git"; ls -A /code\n' });
    progress(`# ${server.url} at ${server.commit}`);
    const { namespace } = space;
    way = await openWayIn(space.cluster, { namespace, name: 'ploinky-router', port: 80 }, folder);
    agents = follow<SeenAgent>(space, 'agents');
    other = makeCertificates(folder, 'other', '127.0.0.1').authority;
    await space.apply(map({ other, none: 'no certificate', own: server.certificates.authority }), {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'token' },
      stringData: {
        right: server.credential,
        wrong: 'reader:wrong',
        authority: server.certificates.authority,
      },
    });
  });
  after(async () => {
    agents?.close();
    await way?.close();
    await server?.remove();
    await space?.remove();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  const map = (data: Readonly<Record<string, string>>) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'authority' },
    data,
  });
  const fromGit = (name: string, git: object, network: object = { installEgress: [server.rule] }) =>
    agent(name, {
      code: { git: { url: server.url, path: 'agents/tell', ...git } },
      mcp: {
        tools: [{ name: 'tell', description: 'Tells where it comes from.', command: 'sh /code/tell.sh' }],
      },
      network,
    });
  const untilReady = (name: string) =>
    agents.until(`${name} is Ready`, (all) => isReady(all.get(name)) && all.get(name), 240_000);

  it('runs, and its status has the commit', async () => {
    const began = performance.now();
    await space.apply(
      fromGit('by-map', { ...authority('own'), ...token('right') }),
      fromGit('by-secret', {
        ca: { secretKeyRef: { name: 'token', key: 'authority' } },
        ...token('right'),
        ref: 'main',
      }),
    );
    for (const name of ['by-map', 'by-secret']) {
      const seen = await untilReady(name);
      progress(`# ${name}: Ready after ${seconds(began)}, codeRevision ${seen.status?.codeRevision}`);
      assert.equal(seen.status?.codeRevision, server.commit);
      assert.equal((await callTool(`${way.url}/mcps/${name}/mcp`, 'tell')).trim(), 'from git\ntell.sh');
    }
  });

  const wrong: Record<string, { git: object; network?: object; reason: string; says: RegExp }> = {
    'wrong-authority': {
      git: { ...authority('other'), ...token('right') },
      reason: 'CodeUnavailable',
      says: /certificate[\s\S]*name that in spec\.code\.git\.ca/,
    },
    'public-authorities': {
      git: token('right'),
      reason: 'CodeUnavailable',
      says: /name that in spec\.code\.git\.ca/,
    },
    'no-authority': {
      git: { ...authority('absent'), ...token('right') },
      reason: 'SecretMissing',
      says: /^spec\.code\.git\.ca: ConfigMap "authority" has no key "absent"\.$/,
    },
    'not-pem': {
      git: { ...authority('none'), ...token('right') },
      reason: 'CodeUnavailable',
      says: /spec\.code\.git\.ca: key "none" of ConfigMap "authority" has no certificate in it/,
    },
    'wrong-password': {
      git: { ...authority('own'), ...token('wrong') },
      reason: 'CodeUnavailable',
      says: /spec\.code\.git\.credentials names[\s\S]*Authentication failed/,
    },
    'no-password': {
      git: { ...authority('own'), credentials: { name: 'absent', key: 'a' } },
      reason: 'SecretMissing',
      says: /^spec\.code\.git\.credentials: Secret "absent" does not exist\.$/,
    },
    closed: {
      git: { ...authority('own'), ...token('right') },
      network: {},
      reason: 'CodeUnavailable',
      says: /list the server and its port in spec\.network\.installEgress/,
    },
    'no-ref': {
      git: { ...authority('own'), ...token('right'), ref: 'nowhere' },
      reason: 'CodeUnavailable',
      says: /mend spec\.code\.git\.ref/,
    },
  };

  it('says what to do when the code cannot be fetched', async () => {
    const began = performance.now();
    await space.apply(
      ...Object.entries(wrong).map(([name, { git, network }]) => fromGit(name, git, network)),
    );
    const seen = Object.entries(wrong).map(async ([name, { reason, says }]) => {
      const found = await agents.until(`${name}: ${reason} ${says}`, (all) => {
        const condition = conditionOf(all.get(name), 'Ready');
        return condition?.reason === reason && says.test(condition.message) && condition;
      });
      progress(`# ${name}: ${seconds(began)}: ${found.reason}: ${found.message.replaceAll(/\s+/g, ' ')}`);
      assert.equal(found.status, 'False');
      assert.doesNotMatch(found.message, /correct horse/);
    });
    const failed = (await Promise.allSettled(seen)).flatMap((one) =>
      one.status === 'rejected' ? [one.reason] : [],
    );
    assert.deepEqual(failed, []);
  });

  it('runs when the certificate is there, without a change of the Agent', async () => {
    const began = performance.now();
    const own = server.certificates.authority;
    await space.apply(map({ own, other: own, none: own, absent: own }));
    for (const name of ['no-authority', 'not-pem', 'wrong-authority']) {
      await untilReady(name);
      progress(`# ${name}: Ready ${seconds(began)} after it was mended`);
    }
  });
});
