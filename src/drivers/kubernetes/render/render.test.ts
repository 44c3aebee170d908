import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { agentServerConfigSchema } from '#api/agent-server-config.ts';
import type { Container } from '#api/cluster-kinds.ts';
import type { Secret } from '#api/meta.ts';
import type { Workload } from '../../workload.ts';
import { contentDigestAnnotation, podName } from '../names.ts';
import { bundleModeOf } from '../settings.ts';
import { settings, workloadOf } from '../testing.ts';
import { pinnedCommit, renderChildren } from './children.ts';

const render = (change: Partial<Workload> = {}, changed: Partial<typeof settings> = {}) => {
  const children = renderChildren(workloadOf(change), { ...settings, ...changed });
  return { ...children, pod: children.pod(0, 'demo-0-abcde') };
};
const runtime = (change: Partial<Workload['runtime']>) => ({ ...workloadOf().runtime, ...change });
const withCommand = (...command: string[]) => ({
  agentServer: { ...workloadOf().agentServer, command, env: { TOKEN: 'canary' } },
});
const decode = (secret: Secret | undefined, key: string) =>
  Buffer.from(secret?.data?.[key] ?? '', 'base64').toString();
const install: Workload['install'] = {
  command: ['npm', 'install', 'left-pad'],
  env: {},
  egress: [],
  egressToken: 'install-token',
  timeoutSeconds: 60,
  digest: 'd',
};
const git: Workload['code'] = {
  type: 'git',
  url: 'https://git.test/a.git',
  path: 'agents/demo',
  credentials: { name: 'git-token', key: 'token' },
};
const names = (containers: readonly Container[] = []) => containers.map(({ name }) => name);
const mountsOf = (container: Container | undefined) =>
  Object.fromEntries((container?.volumeMounts ?? []).map(({ mountPath, name }) => [mountPath, name]));

describe('the pod of an Agent', () => {
  it('has the agent-server alone, or as a sidecar that starts before the agent’s own program', () => {
    assert.deepEqual(names(render().pod.spec.containers), ['agent']);
    const { spec } = render(withCommand('node', 'x.mjs')).pod;
    assert.deepEqual([names(spec.initContainers), names(spec.containers)], [['agent-server'], ['agent']]);
    assert.equal(spec.initContainers?.[0]?.restartPolicy, 'Always');
    assert.equal(spec.initContainers?.[0]?.startupProbe?.httpGet?.path, '/health');
  });
  it('keeps references in commands from being expanded', () => {
    const [agent] = render(withCommand('echo', '$(HOME)')).pod.spec.containers;
    assert.deepEqual(agent?.command, ['echo', '$$(HOME)']);
  });
  it('carries no secret: values and keys are in the Secret alone', () => {
    const children = render({ ...withCommand('x'), install, code: git, fetchToken: 'fetch-canary' });
    const shown = JSON.stringify([children.pod, children.networkPolicy]);
    for (const secret of ['canary', 'install-token', 'fetch-canary'])
      assert.ok(!shown.includes(secret), secret);
    assert.equal(decode(children.agentSecret, 'env.TOKEN'), 'canary');
  });
  it('is the same when what a remote upstream is asked with is another: the Secret alone has it', () => {
    const asking = (key: string) => {
      const upstream = { headers: { 'x-key': key }, clientSecret: 'canary' };
      return render({ agentServer: { ...workloadOf().agentServer, upstream } });
    };
    const [before, after] = [asking('one'), asking('two')];
    assert.deepEqual(before.pod, after.pod);
    assert.doesNotMatch(JSON.stringify(before.pod), /canary/);
    const { headers } = JSON.parse(decode(after.agentSecret, 'config.json')).upstream;
    assert.deepEqual(headers, { 'x-key': 'two' });
  });
  it('gives its own program the environment of every agent, the Agent’s own values first', () => {
    const own = withCommand('x');
    own.agentServer.env = { TOKEN: 'canary', HOME: '/elsewhere' } as never;
    const [agent] = render(own).pod.spec.containers;
    const found = (name: string) => agent?.env?.filter((entry) => entry.name === name) ?? [];
    assert.equal(found('AGENT_NAME')[0]?.value, 'demo');
    assert.equal(found('PORT')[0]?.value, '7001');
    assert.equal(found('HOME').length, 1);
    assert.equal(found('HOME')[0]?.valueFrom?.secretKeyRef?.key, 'env.HOME');
  });
  it('gets /Agent only where its image does not have it', () => {
    const own = { runtime: runtime({ image: 'python:3' }) };
    assert.equal(mountsOf(render().pod.spec.containers[0])['/Agent'], undefined);
    assert.equal(mountsOf(render(own).pod.spec.containers[0])['/Agent'], 'ploinky-bundle');
    assert.deepEqual(names(render(own).pod.spec.initContainers), []);
    assert.deepEqual(names(render(own, { bundle: 'InitCopy' }).pod.spec.initContainers), ['bundle']);
  });
  it('has limits and requests, and asks for little twice', () => {
    const resources = { limits: { memory: '1Gi', pids: 64 }, requests: { memory: '512Mi' } };
    const { spec } = render({ ...withCommand('x'), runtime: runtime({ resources }) }).pod;
    assert.deepEqual(spec.containers[0]?.resources, {
      limits: { memory: '1Gi' },
      requests: { memory: '512Mi' },
    });
    const sidecar = spec.initContainers?.[0]?.resources;
    assert.deepEqual(sidecar, { limits: { memory: '1Gi' }, requests: { cpu: '10m', memory: '64Mi' } });
  });
  it('installs in a container of its own, whose credential the agent does not see', () => {
    const { pod, installSecret, agentSecret } = render({ install });
    const [step] = pod.spec.initContainers ?? [];
    assert.deepEqual(step?.command?.slice(0, 4), ['timeout', '-k', '10', '60']);
    assert.deepEqual(step?.command?.slice(-4), ['--', 'npm', 'install', 'left-pad']);
    const agent = mountsOf(pod.spec.containers[0]);
    assert.equal(agent['/etc/ploinky/install'], undefined);
    assert.deepEqual([agent['/deps'], agent['/node_modules']], ['ploinky-deps', 'ploinky-deps']);
    const config = agentServerConfigSchema.parse(JSON.parse(decode(installSecret, 'install.json')));
    assert.deepEqual(
      config.forwards.map(({ target }) => target),
      [settings.egressAddress],
    );
    assert.ok(!decode(agentSecret, 'config.json').includes(config.forwards[0]?.proxyAuthorization ?? '-'));
  });
  it('fetches git in a container of its own, with a credential that is mounted only there', () => {
    const { pod } = render({ code: git, fetchToken: 'fetch' });
    const [step] = pod.spec.initContainers ?? [];
    assert.equal(mountsOf(step)['/etc/ploinky/git-credential'], 'ploinky-git-credential');
    const code = pod.spec.containers[0]?.volumeMounts?.find(({ mountPath }) => mountPath === '/code');
    assert.deepEqual([code?.subPath, code?.readOnly], ['agents/demo', true]);
    assert.equal(mountsOf(pod.spec.containers[0])['/etc/ploinky/git-credential'], undefined);
  });
  it('mounts code that a ConfigMap holds so that its files can be run', () => {
    for (const code of [
      { type: 'configMap', name: 'scripts' },
      { type: 'inline', files: { 'run.sh': 'echo' } },
    ] as const) {
      const volume = render({ code }).pod.spec.volumes?.find(({ name }) => name === 'ploinky-code');
      assert.equal(volume?.configMap?.defaultMode, 0o555, code.type);
    }
  });
  it('gives the certificates that a fetch trusts to that container alone', () => {
    const ref = { name: 'authority', key: 'ca.pem' };
    for (const [ca, volume] of [
      [{ configMapKeyRef: ref }, 'configMap'],
      [{ secretKeyRef: ref }, 'secret'],
    ] as const) {
      const { pod } = render({ code: { ...git, ca } as Workload['code'], fetchToken: 'fetch' });
      const mounted = pod.spec.volumes?.find(({ name }) => name === 'ploinky-git-ca')?.[volume];
      assert.deepEqual(mounted?.items, [{ key: 'ca.pem', path: 'ca.crt' }]);
      assert.equal(mountsOf(pod.spec.initContainers?.[0])['/etc/ploinky/git-ca'], 'ploinky-git-ca');
      assert.equal(mountsOf(pod.spec.containers[0])['/etc/ploinky/git-ca'], undefined);
    }
  });
  it('lets labels of ours win, and lets an author add what is allowed', () => {
    const podTemplate = {
      metadata: { labels: { team: 'a' } },
      spec: { nodeSelector: { disk: 'ssd', zone: 'a' }, terminationGracePeriodSeconds: 5 },
    };
    const defaults = { spec: { nodeSelector: { zone: 'b' } } };
    const { metadata, spec } = render({ podTemplate }, { defaults }).pod;
    assert.equal(metadata.labels?.['team'], 'a');
    assert.equal(metadata.labels?.['ploinky.dev/agent'], 'demo');
    assert.deepEqual(spec.nodeSelector, { disk: 'ssd', zone: 'b' });
    assert.equal(spec.terminationGracePeriodSeconds, 5);
  });
});

const volume = (name: string) => ({ spec: { volumes: [{ name, emptyDir: {} }] } });
const mount = (mountPath: string) => ({
  spec: { volumes: [{ name: 'a', emptyDir: {} }], volumeMounts: [{ name: 'a', mountPath }] },
});

const refused: Record<string, [change: Partial<Workload>, says: RegExp]> = {
  'a volume with a name of ours': [{ podTemplate: volume('ploinky-code') }, /volumes: the name/],
  'a mount over ours': [{ podTemplate: mount('/Agent') }, /volumeMounts: "\/Agent"/],
  'a mount below ours': [{ podTemplate: mount('/etc/ploinky/agent') }, /etc\/ploinky/],
  'a mount above ours': [{ podTemplate: mount('/') }, /volumeMounts/],
  'a mount of a volume that is not there': [
    { podTemplate: { spec: { volumeMounts: [{ name: 'b', mountPath: '/b' }] } } },
    /no volume "b"/,
  ],
  'the master key': [
    { podTemplate: { spec: { volumes: [{ name: 'a', secret: { secretName: 'ploinky-master' } }] } } },
    /ploinky-master/,
  ],
  'a security setting in an annotation': [
    {
      podTemplate: {
        metadata: { annotations: { 'container.apparmor.security.beta.kubernetes.io/agent': 'unconfined' } },
      },
    },
    /annotations/,
  ],
  'a second network in an annotation': [
    {
      podTemplate: {
        metadata: { annotations: { 'k8s.v1.cni.cncf.io/networks': 'open' } },
      },
    },
    /annotations/,
  ],
  'a resource that is none': [{ runtime: runtime({ resources: { limits: { ram: '1' } } }) }, /limits: "ram"/],
  'a folder of the machine': [{ code: { type: 'path', path: '/home', writable: false } }, /code\.path/],
  'more inline code than a ConfigMap takes': [
    { code: { type: 'inline', files: { a: 'x'.repeat(1_000_000) } } },
    /at most 921600/,
  ],
  'git over anything but https': [{ code: { type: 'git', url: 'ssh://git@git.test/a' } }, /https/],
  'a ref that is an option': [{ code: { ...git, ref: '--upload-pack=x' } as never }, /git\.ref/],
};

describe('what no pod can be', () => {
  for (const [name, [change, says]] of Object.entries(refused)) {
    it(`is refused by field: ${name}`, () =>
      assert.throws(() => render(change), { name: 'TerminalError', message: says }));
  }
  it('includes code from an image where there are no image volumes', () => {
    const code: Workload['code'] = { type: 'image', reference: 'code:1', path: '/srv/' };
    assert.throws(() => render({ code }, { bundle: 'InitCopy' }), /Kubernetes 1\.35/);
    assert.equal(render({ code }).pod.spec.containers[0]?.volumeMounts?.[0]?.subPath, 'srv');
  });
});

describe('the other children', () => {
  it('are the same for the same workload, and tell by their digest when they are not', () => {
    const digest = (secret: Secret) => secret.metadata.annotations?.[contentDigestAnnotation];
    assert.deepEqual(render().agentSecret, render().agentSecret);
    const other = render({ egressToken: 'another' });
    assert.notEqual(digest(render().agentSecret), digest(other.agentSecret));
  });
  it('hold a configuration that the agent-server accepts, for any instance, without the program', () => {
    const text = decode(render(withCommand('x')).agentSecret, 'config.json');
    const config = agentServerConfigSchema.parse(JSON.parse(text));
    assert.equal(config.agent.instance, '');
    assert.equal(config.command, undefined);
    assert.equal(config.env['PLOINKY_INSTANCE'], undefined);
    assert.equal(config.env['PLOINKY_RUNTIME'], 'kubernetes');
    assert.deepEqual(
      config.forwards.map(({ target }) => target),
      ['10.96.0.1:8081', '10.96.0.2:3128'],
    );
  });
  it('pin the commit of one spec', () => {
    const workload = workloadOf({ code: git });
    const { installSecret } = renderChildren(workload, settings, { commit: 'c0ffee' });
    assert.equal(pinnedCommit(installSecret, workload.specHash), 'c0ffee');
    assert.equal(pinnedCommit(installSecret, 'another'), undefined);
    assert.match(decode(installSecret, 'git.json'), /"PLOINKY_GIT_COMMIT":"c0ffee"/);
  });
  it('keep every inline file apart, whatever its name', () => {
    const files = { 'a/b.txt': '1', 'a_b.txt': '2', 'ünï.txt': '3', 'file-x': '4' };
    const { codeConfigMap, pod } = render({ code: { type: 'inline', files } });
    const items = pod.spec.volumes?.find(({ name }) => name === 'ploinky-code')?.configMap?.items ?? [];
    const back = Object.fromEntries(items.map(({ key, path }) => [path, codeConfigMap?.data?.[key]]));
    assert.deepEqual(back, files);
  });
  it('have inline code that never changes, under a name of its own for each content', () => {
    const of = (files: Record<string, string>) => {
      const { codeConfigMap, pod } = render({ code: { type: 'inline', files } });
      const volume = pod.spec.volumes?.find(({ name }) => name === 'ploinky-code');
      assert.equal(volume?.configMap?.name, codeConfigMap?.metadata.name);
      assert.equal(codeConfigMap?.immutable, true);
      return codeConfigMap?.metadata.name ?? '';
    };
    assert.match(of({ a: '1' }), /^demo-code-[0-9a-f]{12}$/);
    assert.equal(of({ a: '1', b: '2' }), of({ b: '2', a: '1' }));
    assert.equal(new Set([of({ a: '1' }), of({ a: '2' }), of({ b: '1' }), of({})]).size, 4);
  });
  it('have claims that outlive the Agent only when they are to', () => {
    const claims = (retain: boolean) =>
      render({ storage: { retain, size: '1Gi' }, runtime: runtime({ replicas: 2 }) }).claims;
    assert.deepEqual(
      claims(true).map(({ metadata }) => metadata.name),
      ['demo-workspace-0', 'demo-workspace-1'],
    );
    assert.deepEqual(claims(true)[0]?.metadata.ownerReferences, []);
    assert.equal(claims(false)[0]?.metadata.ownerReferences?.[0]?.kind, 'Agent');
  });
});

describe('names and modes', () => {
  const id = { namespace: 'default', name: 'demo', uid: 'u' };
  it('are the same for the same circumstances and others for others', () => {
    const name = podName(id, 0, 'A', []);
    assert.match(name, /^demo-0-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    assert.equal(podName(id, 0, 'A', ['y', 'x']), podName(id, 0, 'A', ['x', 'y']));
    const others = [
      podName(id, 0, 'B', []),
      podName(id, 0, 'A', ['x']),
      podName({ ...id, uid: 'v' }, 0, 'A', []),
    ];
    assert.equal(new Set([name, ...others]).size, 4);
  });
  it('take image volumes from Kubernetes 1.35 on', () => {
    assert.equal(bundleModeOf('Auto', { major: '1', minor: '35+' }), 'ImageVolume');
    assert.equal(bundleModeOf('Auto', { major: '1', minor: '34' }), 'InitCopy');
    assert.equal(bundleModeOf('InitCopy', { major: '1', minor: '36' }), 'InitCopy');
  });
});
