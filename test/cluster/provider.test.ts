import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { busyboxArchive, busyboxImage } from './busybox.ts';
import { fakeNodePod } from './fake-nodes.ts';
import { leftovers } from './local/down.ts';
import { placeOf } from './local/place.ts';
import { type Cluster, chooseProvider, type LocalControls, startCluster } from './provider.ts';
import { run } from './run.ts';

// A cluster of its own: it is taken down here, and what others do on theirs does not matter.

const name = 'provider-test';
const archive = await busyboxArchive();
const provider = await chooseProvider();
const reason =
  'missing' in provider ? provider.missing : typeof archive === 'string' ? false : archive.missing;
const options = { skip: reason };
const onlyLocal = {
  skip: reason || ('name' in provider && provider.name !== 'local' && 'only the local cluster'),
};

// Programs of clusters keep state at fixed places; here it must go to the cluster's own folder.
const sharedPlaces = [
  '/var/lib/kubelet',
  '/var/lib/cni',
  '/var/log/containers',
  '/var/log/pods',
  '/run/containerd',
];
const placesBefore = sharedPlaces.map((path) => existsSync(path));

let cluster: Cluster;

before(async () => {
  if (reason !== false || typeof archive !== 'string') return;
  const found = await startCluster({ name, progress: (line) => console.error(`# ${line}`) });
  if ('missing' in found) throw new Error(found.missing);
  cluster = found;
  await cluster.loadImages([archive]);
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'strict', labels } });
});

after(() => cluster?.close());

async function apply(...items: object[]): Promise<void> {
  const list = { apiVersion: 'v1', kind: 'List', items };
  await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(list) });
}

function controls(): LocalControls {
  assert.ok(cluster.local);
  return cluster.local;
}

const confined = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };

function pod(podName: string, spec: object) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: podName, namespace: 'strict', labels: { app: podName } },
    spec: {
      terminationGracePeriodSeconds: 1,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 10001,
        runAsGroup: 10001,
        fsGroup: 10001,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      ...spec,
    },
  };
}

function shell(containerName: string, script: string, more: object = {}) {
  const command = ['sh', '-c', script];
  return { name: containerName, image: busyboxImage, command, securityContext: confined, ...more };
}

const forever = 'while :; do sleep 1; done';

function inPod(podName: string, script: string): Promise<string> {
  return cluster.kubectl(['exec', '-n', 'strict', podName, '-c', 'main', '--', 'sh', '-c', script]);
}

function ready(podName: string): Promise<string> {
  return cluster.kubectl([
    'wait',
    '-n',
    'strict',
    '--for=condition=Ready',
    `pod/${podName}`,
    '--timeout=60s',
  ]);
}

test('a pod with a native sidecar is Ready where Pod Security enforces restricted', options, async () => {
  const mount = { volumeMounts: [{ name: 'site', mountPath: '/site' }] };
  const web = shell('web', 'echo started; echo hello > /site/index.html; exec httpd -f -p 8080 -h /site', {
    ...mount,
    restartPolicy: 'Always',
    startupProbe: { httpGet: { port: 8080, path: '/' }, periodSeconds: 1 },
  });
  const main = shell('main', forever, { resources: { limits: { cpu: '500m', memory: '64Mi' } } });
  await apply(
    pod('first', { volumes: [{ name: 'site', emptyDir: {} }], initContainers: [web], containers: [main] }),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: 'strict' },
      spec: { selector: { app: 'first' }, ports: [{ port: 80, targetPort: 8080 }] },
    },
  );
  await ready('first');
});

test('a pod that may raise its privileges is refused there', options, async () => {
  const bad = pod('bad', { containers: [{ name: 'main', image: busyboxImage }] });
  const { code, stderr } = await cluster.tryKubectl(['apply', '-f', '-'], { input: JSON.stringify(bad) });
  assert.notEqual(code, 0);
  assert.match(stderr, /violates PodSecurity "restricted:latest"/);
});

test('logs and exec reach its containers', options, async () => {
  assert.equal(await cluster.kubectl(['logs', '-n', 'strict', 'first', '-c', 'web']), 'started\n');
  assert.equal(await inPod('first', 'id -u'), '10001\n');
});

test(
  "a Service answers by its name in the cluster's DNS, also to the pod that is behind it",
  options,
  async () => {
    assert.equal(await inPod('first', 'wget -qO- http://web.strict.svc.cluster.local/'), 'hello\n');
    assert.match(await inPod('first', 'nslookup -type=a outside.example.com || true'), /NXDOMAIN|can't find/);
  },
);

test('a port-forward reaches the pod from the network of the cluster', options, async () => {
  const forward =
    'kubectl port-forward -n strict pod/first 18080:8080 >/dev/null & pid=$!; trap "kill $pid" EXIT';
  const fetch = 'fetch("http://127.0.0.1:18080/").then((a) => a.text()).then((t) => process.stdout.write(t))';
  const retry = `for i in $(seq 50); do '${process.execPath}' -e '${fetch}' 2>/dev/null && exit 0; sleep 0.2; done; exit 1`;
  const env = { ...process.env, ...cluster.env };
  assert.equal(await run([...cluster.enter, 'sh', '-c', `${forward}; ${retry}`], { env }), 'hello\n');
});

test(
  'an image outside the cluster cannot be pulled, and that is told within seconds',
  onlyLocal,
  async () => {
    await apply(
      pod('outside', { containers: [shell('main', forever, { image: 'registry.example.com/none:1' })] }),
    );
    const reason = 'jsonpath={.status.containerStatuses[0].state.waiting.reason}=ErrImagePull';
    await cluster.kubectl(['wait', '-n', 'strict', 'pod/outside', `--for=${reason}`, '--timeout=15s']);
  },
);

test(
  "a pod's authority is the cluster's, and verifies the API server by its Service",
  onlyLocal,
  async () => {
    const ca = await inPod('first', 'cat /var/run/secrets/kubernetes.io/serviceaccount/ca.crt');
    assert.ok(new X509Certificate(ca).ca);
    const script = `
    const tls = await import('node:tls');
    const socket = tls.connect({ host: '10.96.0.1', port: 443, servername: 'kubernetes.default.svc', ca: process.argv[1] });
    socket.on('error', (error) => { console.log(error.message); });
    socket.on('secureConnect', () => { console.log(socket.authorized); socket.destroy(); });`;
    const argv = [...cluster.enter, process.execPath, '--input-type=module', '-e', script, '--', ca];
    assert.equal(await run(argv), 'true\n');
  },
);

test(
  'a claimed volume is writable for a user without privileges, and survives its pod',
  options,
  async () => {
    await cluster.addVolumes(1);
    const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
    await apply({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data', namespace: 'strict' },
      spec: claim,
    });
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
    const mount = { volumeMounts: [{ name: 'data', mountPath: '/data' }] };
    const writer = (podName: string) =>
      pod(podName, { volumes, containers: [shell('main', forever, mount)] });
    await apply(writer('writer'));
    await ready('writer');
    await inPod('writer', 'echo kept > /data/file');
    await cluster.kubectl(['delete', '-n', 'strict', 'pod', 'writer', '--wait']);
    await apply(writer('reader'));
    await ready('reader');
    assert.equal(await inPod('reader', 'cat /data/file'), 'kept\n');
  },
);

test('pods on simulated nodes are Ready, and a node that is gone is tainted', options, async () => {
  const [node = ''] = await cluster.addFakeNodes(1);
  await apply(pod('simulated', { ...fakeNodePod, containers: [shell('main', forever)] }));
  await ready('simulated');
  await cluster.setFakeNodeReady(node, false);
  const taints = '-ojsonpath={.spec.taints[*].key}';
  const isTainted = [
    'wait',
    `node/${node}`,
    '--timeout=30s',
    '--for=jsonpath={.spec.taints[?(@.effect=="NoExecute")]}',
  ];
  await cluster.kubectl(isTainted);
  assert.match(await cluster.kubectl(['get', 'node', node, taints]), /node\.kubernetes\.io\/unreachable/);
  await cluster.setFakeNodeReady(node, true);
  await cluster.kubectl(['wait', '--for=condition=Ready', `node/${node}`, '--timeout=30s']);
});

test('the audit log tells who used which verb', onlyLocal, () => {
  assert.ok(cluster.auditLog);
  const events = readFileSync(cluster.auditLog, 'utf8').trimEnd().split('\n');
  const created = events
    .map((line) => JSON.parse(line))
    .find((event) => event.objectRef?.name === 'first' && event.objectRef.resource === 'pods');
  assert.deepEqual([created.user.username, created.level], ['test-admin', 'Metadata']);
});

test('after a compaction and a restart of the API server an old watch gets 410', onlyLocal, async () => {
  const { compact, restart } = controls();
  await compact();
  await restart('apiserver');
  const watch = '/api/v1/namespaces/strict/pods?watch=1&resourceVersion=2&timeoutSeconds=2';
  assert.match(await cluster.kubectl(['get', '--raw', watch]), /"code":410/);
  assert.equal(await inPod('first', 'echo still'), 'still\n');
});

test('a held API server answers nobody, and all when it goes on', onlyLocal, async () => {
  const { pause, resume } = controls();
  const get = () => cluster.tryKubectl(['get', 'namespaces', '--request-timeout=1s']);
  await pause('apiserver');
  assert.notEqual((await get()).code, 0);
  await resume('apiserver');
  await cluster.kubectl(['get', 'namespaces', '--request-timeout=20s']);
});

test(
  'of a second cluster whose programs crashed nothing is left, and the first does not notice',
  onlyLocal,
  async () => {
    const second = await startCluster({ name: 'provider-two' });
    if ('missing' in second || typeof archive !== 'string') throw new Error('the second cluster is missing');
    await second.loadImages([archive]);
    const sleeper = { ...pod('sleeper', { containers: [shell('main', forever)] }) };
    sleeper.metadata.namespace = 'default';
    await second.kubectl(['apply', '-f', '-'], { input: JSON.stringify(sleeper) });
    await second.kubectl(['wait', '--for=condition=Ready', 'pod/sleeper', '--timeout=60s']);
    for (const component of ['kubelet', 'containerd', 'etcd'] as const) {
      const pid = await second.local?.pid(component);
      assert.ok(pid);
      process.kill(pid, 'SIGKILL');
    }
    await second.close();
    assert.deepEqual(await leftovers(placeOf('provider-two')), []);
    assert.equal(await inPod('first', 'echo still'), 'still\n');
  },
);

test('a cluster that is down left nothing on the machine', onlyLocal, async () => {
  await cluster.close();
  assert.deepEqual(await leftovers(placeOf(name)), []);
  assert.deepEqual(
    sharedPlaces.map((path) => existsSync(path)),
    placesBefore,
  );
});
