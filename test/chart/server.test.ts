import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { findHelm, homeNamespace, renderText } from '../../scripts/chart/helm.ts';
import { kubeBinary } from '../cluster/kube/build.ts';
import { type ControlPlane, startControlPlane } from '../cluster/kube/control-plane.ts';
import { run } from '../cluster/run.ts';
import { valueSets } from './objects.ts';

const crds = join(import.meta.dirname, '../../charts/ploinky/files/crds');
const progress = (line: string) => process.stderr.write(`${line}\n`);
const [helm, binary] = [await findHelm(progress), await kubeBinary(progress)];
const missing = [helm, binary].flatMap((part) => (typeof part === 'string' ? [] : [part.missing]));
const options = missing.length === 0 ? {} : { skip: missing.join('; ') };

/** Kinds that an API server has only with somebody else's CRDs; these take any fields, so only the rest is checked. */
const foreign = [
  ['monitoring.coreos.com', 'ServiceMonitor', 'servicemonitors'],
  ['gateway.networking.k8s.io', 'HTTPRoute', 'httproutes'],
] as const;

describe('kube-apiserver takes the chart', options, () => {
  let plane: ControlPlane;
  const kubectl = (args: readonly string[], input = '') =>
    run([String(binary), 'kubectl', '--kubeconfig', plane.kubeconfig, ...args], { input });

  const specs = () =>
    kubectl(['get', 'deploy,pdb,netpol,svc', '-n', homeNamespace, '-o', 'jsonpath={.items[*].spec}']);

  before(async () => {
    plane = await startControlPlane(String(binary));
    await kubectl(['create', 'namespace', homeNamespace]);
    await kubectl(['create', 'serviceaccount', 'default', '--namespace', homeNamespace]);
    await kubectl(['apply', '-f', crds]);
    await kubectl(['create', 'namespace', 'team-a']);
    await kubectl(['create', 'namespace', 'team-b']);
    await kubectl(['apply', '-f', '-'], foreign.map(openDefinition).join('---\n'));
    await kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s']);
  });
  after(() => plane?.close());

  for (const { name, values } of valueSets()) {
    it(`with ${name}, every field known, in a dry run`, async () => {
      const text = await renderText(String(helm), { values });
      const said = await kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], text);
      assert.match(said, /deployment.apps\/ploinky-controller .*\(server dry run\)/);
      assert.match(said, /agent.ploinky.dev\/ploinky-helm-test created/);
    });
  }

  it('plain manifests, as client-side and as server-side apply, and again', async () => {
    const manifests = await renderText(String(helm), { arguments: ['--skip-tests'] });
    const apply = ['apply', '--request-timeout=60s', '-f', '-'];
    const first = await kubectl(apply, manifests);
    assert.match(first, /deployment.apps\/ploinky-router created/);
    const applied = await specs();
    // kubectl calls a budget "configured" each time: it replaces the selector by an equal one.
    assert.doesNotMatch(await kubectl(apply, manifests), /^(?!poddisruption).* (configured|created)$/m);
    await kubectl([...apply, '--server-side', '--force-conflicts'], manifests);
    assert.equal(await specs(), applied);
  });
});

function openDefinition([group, kind, plural]: (typeof foreign)[number]): string {
  const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const annotations = { 'api-approved.kubernetes.io': 'unapproved, for a test' };
  return `${JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, annotations },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  })}\n`;
}
