import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '#api/meta.ts';
import { chartFolder, homeNamespace } from '../../scripts/chart/helm.ts';
import { ensureImages } from '../../scripts/images/ensure.ts';
import { type ImageName, tagOf } from '../../scripts/images/recipes.ts';
import { rarePermissions } from '../../scripts/rbac/table.ts';
import { compareAudit } from '../chart/audit.ts';
import { previousChart } from '../chart/previous.ts';
import { type Cluster, chooseProvider, startCluster } from './provider.ts';

const progress = (line: string) => process.stderr.write(`${line}\n`);
const provider = await chooseProvider();
const images =
  'missing' in provider ? provider : await ensureImages(['controller', 'agent', 'examples'], progress);
const options = 'missing' in images ? { skip: images.missing } : {};

// A cluster of its own: CRDs and ClusterRoles are there once, and Helm is to make and keep them here.
describe('the chart on a real cluster', options, () => {
  let cluster: Cluster;
  let folder: string;

  const inHome = (...args: string[]) => cluster.kubectl([...args, '-n', homeNamespace]);
  const helm = (...args: string[]) => cluster.helm([...args, '-n', homeNamespace]);
  const deploy = (verb: 'install' | 'upgrade', chart: string, agentImage: ImageName, ...more: string[]) =>
    helm(
      verb,
      'ploinky',
      chart,
      '--wait',
      '--timeout',
      '120s',
      '--take-ownership',
      ...values(agentImage),
      ...more,
    );
  /** Pods of agents by name, with what changes when they are made again or their containers restart. */
  const agentPods = () =>
    inHome(
      'get',
      'pods',
      '-l',
      'ploinky.dev/agent in (plain,keeps)',
      '-o',
      `jsonpath=${'{range .items[*]}{.metadata.name} {.metadata.uid} {.status.containerStatuses[*].restartCount}{"\\n"}{end}'}`,
    );

  const explain = async (error: unknown) => {
    const label = 'app.kubernetes.io/component=controller';
    const views = [
      await inHome('get', 'agents,pods', '-o', 'wide'),
      await inHome('describe', 'agents'),
      await inHome('logs', '-l', label, '--tail=40', '--prefix'),
    ];
    throw new Error(views.join('\n'), { cause: error });
  };

  before(async () => {
    // One that a run before left when it was interrupted. What exists already is not ours to take down.
    if (!('missing' in provider) && provider.name !== 'existing') await provider.down('chart');
    const started = await startCluster({ name: 'chart', progress });
    if ('missing' in started) throw new Error(started.missing);
    cluster = started;
    folder = await mkdtemp(join(tmpdir(), 'chart-'));
    if (!('missing' in images)) await cluster.loadImages(Object.values(images.archives));
    await cluster.kubectl(['create', 'namespace', homeNamespace]);
    await cluster.kubectl([
      'label',
      'namespace',
      homeNamespace,
      'pod-security.kubernetes.io/enforce=restricted',
    ]);
  });
  after(async () => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    await cluster?.close();
  });

  it('installs the previous version under enforced "restricted", and runs agents', async () => {
    const previous = await previousChart(folder);
    progress(`previous chart: ${previous.origin}`);
    await deploy('install', previous.folder, 'examples');
    const storageClass = await cluster.addVolumes(1);
    await cluster.kubectl(['apply', '-f', '-'], { input: agents(storageClass) });
    await inHome('wait', '--for=condition=Ready', 'agent/plain', 'agent/keeps', '--timeout=120s').catch(
      explain,
    );
  });

  it('upgrades, with another default image for agents, and restarts no agent', async () => {
    const before = await agentPods();
    assert.equal(before.trim().split('\n').length, 2);
    await deploy('upgrade', chartFolder, 'agent');
    await ensureSteady(agentPods, before);
    const images = await inHome(
      'get',
      'deploy',
      '-o',
      'jsonpath={.items[*].metadata.labels.helm\\.sh/chart}',
    );
    assert.match(images, /^(ploinky-0\.1\.0 ?){3}$/);
  });

  it('`helm test` calls a tool through the router and leaves nothing', async () => {
    const said = await helm('test', 'ploinky', '--logs', '--timeout', '240s');
    assert.match(said, /answered "forty-two"/);
    assert.equal(
      await inHome('get', 'agents,pods', '-o', 'name', '-l', 'app.kubernetes.io/component=test'),
      '',
    );
  });

  it('rolls back and restarts no agent', async () => {
    const before = await agentPods();
    await helm('rollback', 'ploinky', '1', '--wait', '--timeout', '120s');
    await ensureSteady(agentPods, before);
  });

  it('an Agent elsewhere says which RoleBinding it lacks, and runs once it is there', async () => {
    for (const namespace of ['team-a', 'team-b']) await cluster.kubectl(['create', 'namespace', namespace]);
    await deploy('upgrade', chartFolder, 'agent', '--set', 'agentNamespaces={team-a}');
    for (const namespace of ['team-a', 'team-b'])
      await cluster.kubectl(['apply', '-f', '-'], { input: plainAgent(namespace) });
    const wait = (namespace: string, condition: string) =>
      cluster.kubectl(['wait', `--for=${condition}`, 'agent/plain', '-n', namespace, '--timeout=60s']);
    await wait('team-a', 'condition=Ready');
    const ready = '{.status.conditions[?(@.type=="Ready")]';
    await wait('team-b', `jsonpath=${ready}.reason}=Forbidden`);
    const message = await cluster.kubectl([
      ...['get', 'agent', 'plain', '-n', 'team-b', '-o', `jsonpath=${ready}.message}`],
    ]);
    const remedy = /kubectl (create rolebinding ploinky-agent-secrets -n team-b [^(]+) \(/.exec(message)?.[1];
    assert.ok(remedy, message);
    assert.equal((await cluster.kubectl(['get', 'pods,secrets', '-n', 'team-b', '-o', 'name'])).trim(), '');
    await cluster.kubectl(remedy.split(' '));
    await wait('team-b', 'condition=Ready');
  });

  it('routers and egress proxies can list and watch the master key by name, and no other Secret', async () => {
    for (const name of ['router', 'egress']) {
      const as = ['--as', `system:serviceaccount:${homeNamespace}:ploinky-${name}`];
      const one = await inHome(
        'get',
        'secrets',
        '--field-selector',
        'metadata.name=ploinky-master',
        '-o',
        'name',
        ...as,
      );
      assert.equal(one.trim(), 'secret/ploinky-master');
      for (const what of [['secrets'], ['secret', 'plain-agent'], ['secret', 'ploinky-master'], ['pods']]) {
        const { stderr } = await cluster.tryKubectl(['get', ...what, ...as, '-n', homeNamespace]);
        assert.match(stderr, /Forbidden/, `${name} ${what.join(' ')}`);
      }
    }
    const { stderr } = await cluster.tryKubectl([
      'get',
      'secrets',
      '-A',
      '--as',
      `system:serviceaccount:${homeNamespace}:ploinky-controller`,
    ]);
    assert.match(stderr, /Forbidden/);
  });

  it('asked the API for nothing that its roles do not say', async (t) => {
    if (cluster.auditLog === undefined) return t.skip('this provider has no audit log that tests can read');
    const lines = (await readFile(cluster.auditLog, 'utf8')).split('\n');
    const kinds = 'clusterroles,clusterrolebindings,roles,rolebindings';
    const all = JSON.parse(await cluster.kubectl(['get', kinds, '-A', '-o', 'json'])) as {
      items: KubeObject[];
    };
    const ours = all.items.filter(({ metadata }) => metadata.name.startsWith('ploinky-'));
    const compared = compareAudit(lines, ours, rarePermissions());
    const { usedNotGranted, requests } = compared;
    // A few agents use a part of the rights; the whole suite is what all are measured by.
    for (const grant of compared.grantedNotUsed) t.diagnostic(`not used in this run: ${grant}`);
    assert.ok(requests > 50, `${requests} requests`);
    assert.deepEqual(usedNotGranted, []);
  });

  it('uninstalls: agents go on, CRDs, master key and retained volumes stay', async () => {
    const before = await agentPods();
    await helm('uninstall', 'ploinky', '--wait', '--timeout', '60s');
    assert.equal(
      await inHome(
        'get',
        'deploy,svc,pdb,netpol,sa,role,rolebinding',
        '-o',
        'name',
        '-l',
        'app.kubernetes.io/instance=ploinky',
      ),
      '',
    );
    assert.equal(await agentPods(), before);
    await inHome('delete', 'agents', '--all', '--timeout=60s');
    await inHome('wait', '--for=delete', 'pods', '-l', 'ploinky.dev/agent', '--timeout=60s');
    assert.equal(
      (await inHome('get', 'pvc', '-o', 'name')).trim(),
      'persistentvolumeclaim/keeps-workspace-0',
    );
    assert.match(await inHome('get', 'secrets', '-o', 'name'), /^secret\/ploinky-master\n$/);
    assert.match(await cluster.kubectl(['get', 'crd', '-o', 'name']), /agents\.ploinky\.dev/);
  });

  it('then the namespace is gone within 60 s, with agents in it and no controller', async () => {
    await cluster.kubectl(['apply', '-f', '-'], { input: plainAgent(homeNamespace) });
    const started = performance.now();
    await cluster.kubectl(['delete', 'namespace', homeNamespace, '--timeout=60s']);
    progress(`namespace gone after ${((performance.now() - started) / 1000).toFixed(1)} s`);
  });
});

function values(agentImage: ImageName): string[] {
  const set = [...imageValues('image', 'controller'), ...imageValues('agentImage', agentImage)];
  return set.flatMap((value) => ['--set', value]);
}

function imageValues(value: string, name: ImageName): string[] {
  const [repository, tag] = tagOf(name).split(':');
  return [`${value}.repository=${repository}`, `${value}.tag=${tag}`];
}

/** A change that comes late would be missed by one look. */
async function ensureSteady(look: () => Promise<string>, expected: string): Promise<void> {
  for (let looks = 0; looks < 10; looks += 1) {
    assert.equal(await look(), expected);
    await sleep(1_000);
  }
}

function agents(storageClass: string): string {
  return `${plainAgent(homeNamespace)}---
apiVersion: ploinky.dev/v1alpha1
kind: Agent
metadata: {name: keeps, namespace: ${homeNamespace}}
spec:
  mcp: {tools: [{name: now, description: Tells the time., command: date}]}
  storage: {size: 100Mi, storageClassName: ${storageClass}, retain: true}
`;
}

function plainAgent(namespace: string): string {
  return `apiVersion: ploinky.dev/v1alpha1
kind: Agent
metadata: {name: plain, namespace: ${namespace}}
spec:
  mcp: {tools: [{name: now, description: Tells the time., command: date}]}
`;
}
