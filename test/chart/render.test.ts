import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { customResourceDefinitions } from '#api/crd.ts';
import { validateAgent } from '#api/validate.ts';
import { chartFolder, findHelm, render, renderText, tryRender } from '../../scripts/chart/helm.ts';
import { tryRun } from '../cluster/run.ts';
import { grantsOf, isRole } from './grants.ts';
import { argumentsOf, podsOf, valueSets } from './objects.ts';
import { restrictedViolations } from './restricted.ts';

const found = await findHelm((line) => process.stderr.write(`${line}\n`));
const helm = typeof found === 'string' ? found : '';
const options = typeof found === 'string' ? {} : { skip: `no Helm: ${found.missing}` };

describe('the chart, rendered', options, () => {
  for (const { name, values } of valueSets()) {
    it(`with ${name}: lints, and its pods pass "restricted"`, async () => {
      const lint = await tryRun([helm, 'lint', '--strict', chartFolder, '--values', '-'], { input: values });
      assert.equal(lint.code, 0, lint.stdout + lint.stderr);
      const pods = podsOf(await render(helm, { values }));
      assert.equal(pods.length, 4);
      for (const { name: pod, spec } of pods) assert.deepEqual(restrictedViolations(spec), [], pod);
    });

    it(`with ${name}: no role has a wildcard, and no grant for Secrets is cluster-wide`, async () => {
      const objects = await render(helm, { values });
      const rules = objects.filter(isRole).flatMap((role) => role.rules ?? []);
      assert.ok(rules.length > 5);
      const words = rules.flatMap((rule) => [rule.apiGroups, rule.resources, rule.verbs].flat());
      assert.ok(!words.includes('*'));
      const secrets = grantsOf(objects).filter(({ resource }) => resource === 'secrets');
      assert.ok(secrets.length > 0);
      for (const grant of secrets) assert.notEqual(grant.namespace, undefined, JSON.stringify(grant));
    });

    it(`with ${name}: routers reach no Secret but the master key and who may log in, egress proxies the master key alone, and neither a pod`, async () => {
      const others = grantsOf(await render(helm, { values })).filter(
        ({ user }) => !user.endsWith('-controller'),
      );
      assert.ok(others.length > 0);
      for (const { user, resource, name: only, verb } of others) {
        const known = user.endsWith('-router') ? ['ploinky-master', 'ploinky-auth'] : ['ploinky-master'];
        if (resource === 'secrets')
          assert.ok(
            known.includes(only ?? '') && ['list', 'watch'].includes(verb),
            `${user} ${verb} ${only}`,
          );
        if (resource === 'configmaps')
          assert.ok(user.endsWith('-router') && only === 'ploinky-logouts', `${user} ${verb} ${only}`);
        assert.ok(!resource.startsWith('pods'), resource);
      }
    });

    it(`with ${name}: no Secret is rendered, twice the same`, async () => {
      const text = await renderText(helm, { values });
      assert.ok(!/^kind: Secret$/m.test(text));
      assert.equal(await renderText(helm, { values }), text);
    });
  }

  it('a namespaced release renders nothing cluster-wide but roles for people, and tells its programs', async () => {
    const objects = await render(helm, {
      values: valueSets().find(({ name }) => name === 'namespaced.yaml')?.values ?? '',
    });
    const clusterWide = objects.filter(
      ({ kind, metadata }) => /^Cluster|Definition$/.test(kind) || metadata.namespace === undefined,
    );
    assert.deepEqual(clusterWide.map(({ metadata }) => metadata.name).sort(), [
      'ploinky-admin',
      'ploinky-edit',
      'ploinky-view',
    ]);
    for (const program of ['ploinky-controller', 'ploinky-router', 'ploinky-egress']) {
      assert.ok(argumentsOf(objects, program).includes('--namespace=ploinky-system'), program);
    }
  });

  it('the CRDs are those of the code, kept at uninstall, and can be left out', async () => {
    const rendered = (await render(helm)).filter(({ kind }) => kind === 'CustomResourceDefinition');
    const annotations = { 'helm.sh/resource-policy': 'keep' };
    const expected = customResourceDefinitions().map((crd) => ({
      ...crd,
      metadata: { ...crd.metadata, annotations },
    }));
    assert.deepEqual(rendered, JSON.parse(JSON.stringify(expected)));
    const without = await render(helm, { values: 'crds: {install: false}' });
    assert.equal(without.filter(({ kind }) => kind === 'CustomResourceDefinition').length, 0);
  });

  it('the Agent of `helm test` is one that the code accepts', async () => {
    const agent = (await render(helm)).find(({ kind }) => kind === 'Agent');
    assert.ok(agent);
    assert.deepEqual(validateAgent(agent), []);
  });

  it('values become flags', async () => {
    const objects = await render(helm, {
      values: valueSets().find(({ name }) => name === 'everything.yaml')?.values ?? '',
    });
    const controller = argumentsOf(objects, 'ploinky-controller');
    const claims = '--host-claims=team-a=a.example.org+*.a.example.org,team-b=b.example.org';
    for (const flag of [
      claims,
      '--agent-image=ploinky/agent:0.1.0',
      '--bundle-image=registry.example.org/ploinky/agent:bundle',
      '--bundle=InitCopy',
      '--storage-access-mode=ReadWriteOnce',
      '--shared-claim=shared',
      '--pod-defaults=/etc/ploinky/pod-defaults/pod-defaults.json',
    ]) {
      assert.ok(controller.includes(flag), flag);
    }
    const router = argumentsOf(objects, 'ploinky-router');
    assert.ok(router.includes(claims) && router.includes('--allow-origin=https://app.example.org'));
    const hosts = router.find((flag) => flag.startsWith('--allow-host='))?.split(/[=,]/) ?? [];
    for (const host of [
      'agents.example.org',
      '*.agents.example.org',
      '*.internal.example.org',
      '$(POD_IP)',
    ]) {
      assert.ok(hosts.includes(host), host);
    }
  });
});

const wrong: Readonly<Record<string, RegExp>> = {
  'router: {replicas: two}': /\/router\/replicas.*want integer/,
  'router: {replica: 2}': /\/router.*'replica' not allowed/,
  'imagee: {}': /'imagee' not allowed/,
  'image: {pullPolicy: Sometimes}': /\/image\/pullPolicy/,
  'image: {digest: abc}': /\/image\/digest/,
  'scope: cluster': /\/scope/,
  'agentNamespaces: [Team]': /\/agentNamespaces\/0/,
  '{scope: Namespaced, agentNamespaces: [a]}': /\/agentNamespaces/,
  'podDefaults: {tolerations: []}': /\/podDefaults.*'tolerations' not allowed/,
  'podDefaults: {securityContext: {runAsUser: 0}}': /\/podDefaults\/securityContext\/runAsUser/,
  'hostClaims: {a: []}': /\/hostClaims\/a/,
  'controller: {extraArgs: ["-x"]}': /\/controller\/extraArgs\/0/,
  'controller: {leaseSeconds: 1}': /\/controller\/leaseSeconds/,
  'router: {drainSeconds: 60}': /router\.terminationGracePeriodSeconds .* must exceed router\.drainSeconds/,
  'ingress: {enabled: true}': /ingress\.hosts is empty/,
  'httpRoute: {enabled: true}': /httpRoute\.parentRefs is empty/,
  '{serviceMonitor: {enabled: true}, metrics: {enabled: false}}':
    /serviceMonitor\.enabled needs metrics\.enabled/,
  'networkPolicy: {apiServer: {cidrs: [nowhere]}}': /\/networkPolicy\/apiServer\/cidrs\/0/,
};

describe('wrong values', options, () => {
  for (const [values, message] of Object.entries(wrong)) {
    it(`${values} is refused by name`, async () => {
      const { code, stderr } = await tryRender(helm, { values });
      assert.notEqual(code, 0);
      assert.match(stderr, message);
    });
  }
});
