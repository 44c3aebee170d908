import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { customResourceDefinitions } from '#api/crd.ts';
import { busyboxArchive } from '#test/cluster/busybox.ts';
import { type Cluster, chooseProvider, startCluster } from '#test/cluster/provider.ts';
import { checkout, runProgram } from '#test/fixtures/workspace/workspace.ts';
import { buildApp } from '../../scripts/build.ts';
import { eventually } from '../cli-cluster/eventually.ts';
import { type Ploinky, ploinkyOf } from '../cli-cluster/ploinky.ts';
import { kubeconfigOfReader, readerOf } from '../cli-cluster/reader.ts';
import { agentPod, standInRouters } from '../cli-cluster/stand-ins.ts';

// A cluster of its own, with pods that stand for routers and agents: what leads to pods is tried, not what is in them.

const provider = await chooseProvider();
const archive = await busyboxArchive();
const reason =
  'missing' in provider ? provider.missing : typeof archive === 'string' ? false : archive.missing;
const home = 'cli-home';

let cluster: Cluster;
let ploinky: Ploinky;
let folder: string;

async function apply(...items: object[]): Promise<void> {
  await cluster.kubectl(['apply', '-f', '-'], {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  });
}

async function waitReady(...names: string[]): Promise<void> {
  const pods = names.map((name) => `pod/${name}`);
  await cluster.kubectl(['wait', '-n', home, '--for=condition=Ready', '--timeout=60s', ...pods]);
}

before(async () => {
  if (reason !== false) return;
  folder = await mkdtemp(join(tmpdir(), 'cli-pods-'));
  const found = await startCluster({ name: 'cli-test', progress: (line) => console.error(`# ${line}`) });
  if ('missing' in found) throw new Error(found.missing);
  cluster = found;
  if (typeof archive === 'string') await cluster.loadImages([archive]);
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: home } };
  await apply(namespace, ...customResourceDefinitions());
  await cluster.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s']);
  const agent = { name: 'talker', namespace: home };
  const tools = [{ name: 'say', command: 'echo hi' }];
  const api = 'ploinky.dev/v1alpha1';
  // Kinds that were just defined are not served at once.
  await eventually(async () => (await cluster.tryKubectl(['get', 'agents,routes'])).code === 0);
  await apply({ apiVersion: api, kind: 'Agent', metadata: agent, spec: { mcp: { tools } } });
  await apply(
    ...standInRouters(home, ['router-a', 'router-b']),
    agentPod(home, 'talker-0-aaaaa', 'echo began; n=0; while sleep 1; do n=$((n+1)); echo line $n; done'),
    agentPod(home, 'talker-1-bbbbb', 'echo about to fail; sleep 1; exit 3'),
  );
  await waitReady('router-a', 'router-b', 'talker-0-aaaaa');
  ploinky = ploinkyOf(cluster.kubeconfig, cluster.enter);
});

after(async () => {
  await cluster?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

describe('The command line on a cluster with pods', { timeout: 400_000, skip: reason }, () => {
  it('calls tools by port-forward, with much to say in both directions', async () => {
    assert.match(await ploinky.must('-n', home, 'tools'), /where +Which pod/);
    assert.match(
      await ploinky.must('-n', home, 'call', 'where'),
      /^router-[ab] heard \d+ bytes for localhost:8080\n$/,
    );
    const size = 'x'.repeat(100_000);
    assert.match(
      await ploinky.must('-n', home, 'call', 'where', '-p', `size=${size}`),
      /heard 100\d{3} bytes/,
    );
  });

  it('calls tools from its bundle, which needs no package', async () => {
    const app = await buildApp(join(folder, 'app'));
    const [file = '', ...args] = [...cluster.enter, process.execPath, join(app, 'ploinky.mjs')];
    const outcome = await runProgram(file, [
      ...args,
      '--kubeconfig',
      cluster.kubeconfig,
      '-n',
      home,
      'call',
      'where',
    ]);
    assert.match(outcome.stdout, /^router-[ab] heard/, outcome.stderr);
  });

  it('serves several calls at once', async () => {
    const begun = performance.now();
    const calls = Array.from({ length: 3 }, () => ploinky.must('-n', home, 'call', 'slow'));
    assert.deepEqual(await Promise.all(calls), ['late\n', 'late\n', 'late\n']);
    // Each takes three seconds in the tool alone.
    assert.ok(performance.now() - begun < 60_000);
  });

  it('goes to another router when one is gone, and says so when none is left', async () => {
    await cluster.kubectl(['delete', 'pod', '-n', home, 'router-a', '--now']);
    assert.match(await ploinky.must('-n', home, 'call', 'where'), /^router-b heard/);
    await cluster.kubectl(['delete', 'pod', '-n', home, 'router-b', '--now']);
    const outcome = await ploinky.run('-n', home, 'call', 'where');
    assert.equal(outcome.code, 3);
    assert.match(outcome.stderr, /no router of Ploinky is in the cluster/);
    await apply(...standInRouters(home, ['router-a', 'router-b']));
    await waitReady('router-a', 'router-b');
  });

  it('tells of a namespace that no Route serves', async () => {
    const outcome = await ploinky.run('-n', 'kube-public', 'tools');
    assert.equal(outcome.code, 4);
    assert.match(
      outcome.stderr,
      new RegExp(`no Route serves the tools of namespace kube-public\\n.*only namespace ${home}`),
    );
  });

  it('shows the logs of all containers of all replicas in the order of their times', async () => {
    const text = await ploinky.must('-n', home, 'logs', 'talker');
    assert.match(text, /^\[talker-0-aaaaa\/agent-server\] server of talker-0-aaaaa$/m);
    assert.match(text, /^\[talker-1-bbbbb\/agent\] about to fail$/m);
    const timed = await ploinky.must('-n', home, 'logs', 'talker', '--timestamps', '--tail', '1000');
    const times = timed
      .trim()
      .split('\n')
      .map((line) => line.split(' ')[1] ?? '');
    assert.ok(times.length > 3 && times.every((time) => /^\d{4}-\d\d-\d\dT/.test(time)), timed);
    assert.deepEqual(times, times.toSorted());
  });

  it('shows as many lines as asked for, of one container when one is named', async () => {
    const text = await ploinky.must('-n', home, 'logs', 'talker', '--tail', '2', '-c', 'agent-server');
    assert.deepEqual(text.trim().split('\n').sort(), [
      '[talker-0-aaaaa] server of talker-0-aaaaa',
      '[talker-1-bbbbb] server of talker-1-bbbbb',
    ]);
    const outcome = await ploinky.run('-n', home, 'logs', 'talker', '-c', 'nope');
    assert.equal(outcome.code, 4);
    assert.match(outcome.stderr, /There are .*agent-server/);
  });

  it('shows what a container wrote before it was started again', async () => {
    const restarted = await eventually(async () => {
      return (await ploinky.run('-n', home, 'logs', 'talker', '-p')).stdout.includes('about to fail');
    });
    assert.ok(restarted);
  });

  it('follows logs into pods that come later, without saying a line twice', async () => {
    const child = ploinky.start('-n', home, 'logs', 'talker', '-f', '--tail', '0');
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (data: string) => (text += data));
    try {
      assert.ok(await eventually(() => /talker-0-aaaaa\/agent\] line \d+/.test(text)), text);
      await apply(agentPod(home, 'talker-2-ccccc', 'echo here I am; exec sleep 1000'));
      assert.ok(await eventually(() => text.includes('[talker-2-ccccc/agent] here I am')), text);
      const lines = text.split('\n').filter((line) => /talker-0.*line/.test(line));
      assert.equal(new Set(lines).size, lines.length, text);
      assert.doesNotMatch(text, /began/);
    } finally {
      child.kill('SIGINT');
    }
    const [code] = await once(child, 'exit');
    assert.equal(code, 0);
  });

  it('shows the logs of the routers', async () => {
    await ploinky.must('logs', '--process', 'router');
    const outcome = await ploinky.run('logs', '--process', 'watchdog');
    assert.equal(outcome.code, 2);
    assert.match(outcome.stderr, /Use one of controller, router, egress/);
  });

  it('passes over a pod that is gone, one that is nowhere, and one with nothing listening', async () => {
    const at = (pod: string, port: number) => ({ namespace: home, pod, port });
    const forward = async (...pods: object[]) => {
      const script = join(checkout, 'test/cli-cluster/forward-through.ts');
      const [file = '', ...args] = [...cluster.enter, process.execPath, script];
      return runProgram(file, [...args, cluster.kubeconfig, JSON.stringify(pods)]);
    };
    const found = await forward(at('gone', 8080), at('talker-0-aaaaa', 8080), at('router-a', 8080));
    assert.match(found.stdout, /router-a heard/);
    assert.match(found.stderr, /cli-home\/gone: .*404/);
    assert.match(found.stderr, /cli-home\/talker-0-aaaaa: .*refused/);
    const none = await forward(at('gone', 8080));
    assert.match(none.stdout, /^failed: .*cli-home\/gone/);
  });

  it('asks for the host of the Route of a namespace', async () => {
    const metadata = { name: 'tools', namespace: 'cli-team' };
    const spec = { selector: {}, hosts: ['team.example.org'], paths: ['/x'], mcp: {} };
    const status = {
      conditions: [
        {
          type: 'Accepted',
          status: 'True',
          reason: 'Accepted',
          message: '',
          lastTransitionTime: new Date().toISOString(),
        },
      ],
    };
    await apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'cli-team' } },
      { apiVersion: 'ploinky.dev/v1alpha1', kind: 'Route', metadata, spec },
    );
    const early = await ploinky.run('-n', 'cli-team', 'tools');
    assert.equal(early.code, 4);
    assert.match(early.stderr, /Route tools is not accepted: not seen by the controller/);
    const patch = JSON.stringify({ status });
    await cluster.kubectl([
      'patch',
      'route',
      'tools',
      '-n',
      'cli-team',
      '--subresource=status',
      '--type=merge',
      '-p',
      patch,
    ]);
    assert.match(await ploinky.must('-n', 'cli-team', 'call', 'where'), /for team\.example\.org$/m);
  });

  it('goes by the public URL when a router answers there, else by port-forward', async () => {
    const ip = (
      await cluster.kubectl(['get', 'pod', 'router-a', '-n', home, '-o', 'jsonpath={.status.podIP}'])
    ).trim();
    const labels = { 'app.kubernetes.io/name': 'ploinky', 'app.kubernetes.io/component': 'router' };
    const service = (url: string) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'ploinky-router',
        namespace: home,
        labels,
        annotations: { 'ploinky.dev/public-url': url },
      },
      spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
    });
    await apply(service(`http://${ip}:8080/`));
    assert.match(
      await ploinky.must('-n', home, 'call', 'where'),
      new RegExp(`^router-a .* for ${ip}:8080$`, 'm'),
    );
    assert.match(
      await ploinky.must('-n', home, 'status'),
      new RegExp(`- Router: listening http://${ip}:8080 \\(2 of 2`),
    );
    await apply(service('http://127.0.0.1:9'));
    const outcome = await ploinky.run('-n', home, 'call', 'where');
    assert.match(outcome.stdout, /for localhost:8080$/m);
    assert.match(outcome.stderr, /No router answers at http:\/\/127\.0\.0\.1:9; going by port-forward/);
    const named = await ploinky.run('-n', home, '--router', 'http://127.0.0.1:9', 'call', 'where');
    assert.equal(named.code, 3);
    assert.match(named.stderr, /the router at http:\/\/127\.0\.0\.1:9 cannot be reached/);
  });
});

describe('Somebody who may only look at the agents of one namespace', {
  timeout: 200_000,
  skip: reason,
}, () => {
  let reader: Ploinky;

  before(async () => {
    await apply(...readerOf(home));
    const file = join(folder, 'kubeconfig');
    await writeFile(file, await kubeconfigOfReader(cluster, home), { mode: 0o600 });
    reader = ploinkyOf(file, cluster.enter);
  });

  it('sees them, and how the routers are only where that is allowed', async () => {
    assert.match(await reader.must('-n', home, 'get', 'agents'), /talker/);
    assert.match(await reader.must('-n', home, 'status'), /- Router: not yours to see/);
  });

  it('is told by the doctor which rights are missing and for what', async () => {
    const stdout = await reader.must('-n', home, 'doctor');
    assert.match(stdout, /^warn +Rights .*patch agents\/scale \(scale\); .*get pods\/log \(logs\)/m);
    assert.doesNotMatch(stdout, /get agents \(/);
  });

  it('is refused the rest with exit code 5 and whom to ask', async () => {
    for (const args of [['logs', 'talker'], ['delete', 'agent', 'talker'], ['tools']]) {
      const outcome = await reader.run('-n', home, ...args);
      assert.equal(outcome.code, 5, `${args.join(' ')}: ${outcome.stderr}`);
      assert.match(outcome.stderr, /\n {2}(`ploinky doctor|Name the namespace of the installation)/);
    }
  });
});
