import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { KubeObject } from '#api/meta.ts';
import type { Installed } from '#test/fixtures/place/install.ts';
import { checkout } from '#test/fixtures/workspace/workspace.ts';
import { agent } from './agents.ts';
import { installIn, missingCluster, openCluster, progress, type Space } from './product.ts';

/** Everything that the controller makes for Agents. */
const childKinds = 'pods,secrets,configmaps,persistentvolumeclaims,networkpolicies';
const route = {
  apiVersion: 'ploinky.dev/v1alpha1',
  kind: 'Route',
  metadata: { name: 'door' },
  spec: { agents: [{ name: 'hello' }], paths: ['/door'], mcp: {} },
};

describe('kubectl, to somebody who knows nothing else', { skip: missingCluster, timeout: 900_000 }, () => {
  let space: Space & Pick<Installed, 'remove'>;
  before(async () => {
    space = await installIn(await openCluster([]), 'kubectl');
  });
  after(() => space?.remove());

  /** What it printed, shown in the test's output too: it is for people. */
  async function show(...args: string[]): Promise<string> {
    const printed = await space.kubectl(...args);
    progress(`$ kubectl ${args.join(' ')}\n${printed.split('\n').slice(0, 30).join('\n')}`);
    return printed;
  }
  const children = async () =>
    (await space.list<KubeObject>(childKinds, 'ploinky.dev/agent')).map(
      ({ kind, metadata }) => `${kind}/${metadata.name}`,
    );

  it('`wait --for=condition=Ready` ends when the agent answers', async () => {
    await space.kubectl('apply', '-f', join(checkout, 'examples/hello.yaml'));
    await space.apply(route);
    const said = await show('wait', '--for=condition=Ready', 'agent/hello', '--timeout=120s');
    assert.equal(said.trim(), 'agent.ploinky.dev/hello condition met');
  });

  it('`get ag,rt,tk -o wide` shows in one line each how they are', async () => {
    await space.kubectl('wait', '--for=condition=Programmed', 'route/door', '--timeout=60s');
    const printed = await show('get', 'ag,rt,tk', '-o', 'wide');
    assert.match(printed, /^NAME +READY +RUNTIME +REPLICAS +TOOLS +AGE +REASON$/m);
    assert.match(printed, /^agent\.ploinky\.dev\/hello +True +Pod +1 +2 +\d+s +Ready$/m);
    assert.match(printed, /^route\.ploinky\.dev\/door +True /m);
    assert.match(await space.kubectl('get', 'ploinky'), /agent\.ploinky\.dev\/hello/);
  });

  it('`describe` ends with what happened, without a secret', async () => {
    const printed = await show('describe', 'agent', 'hello');
    assert.match(printed, /Message: +The agent is ready\.|Reason: +Ready/);
    const events = printed.slice(printed.indexOf('\nEvents:'));
    assert.match(events, /Normal +Ready /);
    const secret = JSON.parse(await space.kubectl('get', 'secret', 'hello-agent', '-o', 'json')) as {
      data: Record<string, string>;
    };
    for (const value of Object.values(secret.data)) assert.ok(!printed.includes(value));
  });

  it('`explain` tells every field, its default and its values', async () => {
    const printed = await show('explain', 'agent.spec.runtime');
    assert.match(printed, /^KIND: +Agent$/m);
    assert.match(printed, /What it runs on, and how many of it\./);
    for (const field of ['class', 'image', 'replicas', 'resources', 'suspend']) {
      assert.match(printed, new RegExp(`^ {2}${field}\t<`, 'm'));
    }
    assert.match(printed, /enum: Auto, Pod, Bwrap/);
  });

  it('refuses a wrong field with its path and a remedy', async () => {
    const { code, stderr } = await space.cluster.tryKubectl(['apply', '-n', space.namespace, '-f', '-'], {
      input: JSON.stringify(agent('wrong', { runtime: { replicas: 1000 } })),
    });
    assert.equal(code, 1);
    progress(stderr);
    assert.match(stderr, /spec\.runtime\.replicas: Invalid value: 1000: .*less than or equal to 100/);
  });

  it('`scale` makes and takes replicas', async () => {
    const said = await show('scale', 'agent/hello', '--replicas=2');
    assert.equal(said.trim(), 'agent.ploinky.dev/hello scaled');
    const both = 'jsonpath={.status.replicas}=2';
    await space.kubectl('wait', `--for=${both}`, 'agent/hello', '--timeout=90s');
    await space.kubectl('wait', '--for=condition=Ready', 'agent/hello', '--timeout=90s');
    const pods = await show('get', 'pods', '-l', 'ploinky.dev/agent=hello');
    assert.match(pods, /^hello-0-[a-z0-9]{5} +1\/1 +Running /m);
    assert.match(pods, /^hello-1-[a-z0-9]{5} /m);
    await space.kubectl('scale', 'agent/hello', '--replicas=0');
    const none = 'jsonpath={.status.conditions[?(@.type=="Ready")].reason}=Suspended';
    await space.kubectl('wait', `--for=${none}`, 'agent/hello', '--timeout=90s');
    await space.kubectl('scale', 'agent/hello', '--replicas=1');
    await space.kubectl('wait', '--for=condition=Ready', 'agent/hello', '--timeout=90s');
  });

  it('`delete` takes the children along and leaves nothing', async () => {
    const storageClass = await space.cluster.addVolumes(1);
    const storage = { size: '100Mi', storageClassName: storageClass, retain: false };
    await space.apply(agent('keeps', { storage }));
    await space.kubectl('wait', '--for=condition=Ready', 'agent/keeps', '--timeout=120s');
    const before = await children();
    progress(before.join('\n'));
    for (const child of [
      'NetworkPolicy/hello-agent',
      'NetworkPolicy/keeps-agent',
      'PersistentVolumeClaim/keeps-workspace-0',
      'Secret/hello-agent',
      'Secret/keeps-agent',
    ]) {
      assert.ok(before.includes(child), child);
    }
    assert.equal(before.filter((child) => /^ConfigMap\/hello-code-[0-9a-f]{12}$/.test(child)).length, 1);
    const began = performance.now();
    const said = await show('delete', 'agent/hello', 'agent/keeps', 'route/door', '--timeout=60s');
    assert.match(said, /agent\.ploinky\.dev "hello" deleted/);
    while ((await children()).length > 0) {
      assert.ok(performance.now() - began < 90_000, `left: ${await children()}`);
    }
    progress(`# gone after ${Math.round(performance.now() - began)} ms`);
    assert.match((await space.tryKubectl('get', 'ag,rt,tk')).stderr, /No resources found/);
  });
});
