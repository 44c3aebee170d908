import assert from 'node:assert/strict';
import { test } from 'node:test';
import { widget } from './fixtures/widget.ts';
import type { KubectlResult, Server } from './servers.ts';
import { createBench } from './suite.ts';

/** One command; `only: 'code'` where the texts cannot be equal (temporary paths, documentation of built-in kinds). */
interface Command {
  readonly args: readonly string[];
  readonly input?: unknown;
  readonly env?: Record<string, string>;
  readonly only?: 'code';
}

const run = (line: string, more: Omit<Command, 'args'> = {}): Command => ({ args: line.split(' '), ...more });
const ready = JSON.stringify({
  status: {
    phase: 'Up',
    conditions: [{ type: 'Ready', status: 'True', reason: 'Fine', message: 'all is well' }],
  },
});
const event = {
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: 'a.1' },
  involvedObject: { apiVersion: 'contract.ploinky.dev/v1', kind: 'Widget', name: 'a', namespace: '$ns' },
  reason: 'Started',
  message: 'it has started',
  type: 'Normal',
  count: 3,
  source: { component: 'tests' },
  firstTimestamp: '2026-01-01T00:00:00Z',
  lastTimestamp: '2026-01-01T00:00:00Z',
};
const agent = (spec: Record<string, unknown>) => ({
  apiVersion: 'ploinky.dev/v1alpha1',
  kind: 'Agent',
  metadata: { name: 'helper' },
  spec,
});

/** A session of the real kubectl, in order. */
const session: Command[] = [
  run('api-resources --api-group=contract.ploinky.dev'),
  run('api-resources --api-group=ploinky.dev -o wide'),
  run('apply -f -', { input: widget('a', { size: 3, parts: [{ name: 'x' }] }, { labels: { app: 'one' } }) }),
  run('apply -f -', { input: widget('a', { size: 3, parts: [{ name: 'x' }] }, { labels: { app: 'one' } }) }),
  run('apply -f -', { input: widget('a', { size: 4, parts: [{ name: 'y' }] }, { labels: { app: 'one' } }) }),
  run('get wd'),
  run('get widgets.contract.ploinky.dev a -o wide'),
  run('get wd a -o name'),
  run('get wd a -o yaml --show-managed-fields'),
  run('get wd -o json'),
  run('get wd -o jsonpath={.items[*].spec.size}'),
  run('get contract'),
  run('get wd none'),
  run('get wd -l app=none'),
  run('label wd a tier=front'),
  run('label wd a tier=back'),
  run('label wd a tier=back --overwrite'),
  run('label wd a tier-'),
  run('annotate wd a note=hello'),
  run('get wd a --show-labels'),
  run('patch wd a --type merge -p {"spec":{"size":5}}'),
  run('patch wd a --type json -p [{"op":"replace","path":"/spec/size","value":6}]'),
  run('patch wd a --type merge -p {"spec":{"size":99}}'),
  run('edit wd a', { env: { KUBE_EDITOR: "sed -i 's/size: 6/size: 7/'" } }),
  run('get wd a -o jsonpath={.spec.size}'),
  run('scale wd a --replicas=3'),
  run('scale wd a --replicas=4 --current-replicas=9'),
  run('get wd a --subresource=scale -o jsonpath={.spec.replicas}'),
  run('wait wd/a --for=condition=Ready --timeout=5s'),
  run('wait wd/a --for=jsonpath={.status.phase}=Up --timeout=5s'),
  run('wait wd/a --for=condition=Ready=False --timeout=1s'),
  run('apply -f - --server-side --field-manager=other', { input: widget('a', { size: 8 }) }),
  run('apply -f - --server-side --field-manager=other --force-conflicts', {
    input: widget('a', { size: 8 }),
  }),
  run('apply -f - --server-side', { input: widget('b', { on: true }) }),
  run('apply -f - --server-side', { input: widget('b', { on: true }) }),
  run('apply -f -', { input: widget('c', { nope: 1 }) }),
  run('apply -f - --validate=false', { input: widget('c', { size: 2 }) }),
  run('apply -f -', { input: widget('d', { mode: 'ajar', low: 5, high: 1 }) }),
  run('apply -f -', { input: widget('d', { low: 5, high: 1 }) }),
  run('apply -f - --dry-run=server', { input: widget('e', { size: 1 }) }),
  run('create -f -', { input: widget('c') }),
  run('replace -f -', { input: widget('c', { size: 9 }) }),
  run('diff -f -', { input: widget('c', { size: 1 }), only: 'code' }),
  run('apply -f -', { input: event }),
  run('describe wd a'),
  run('events --for widget/a'),
  run('get events'),
  run('explain widget'),
  run('explain widget.spec'),
  run('explain widget.spec.parts'),
  run('explain widget.spec --recursive'),
  run('explain agent.spec.runtime'),
  run('explain secret.data', { only: 'code' }),
  run('create secret generic s --from-literal=user=me --from-literal=pass=word'),
  run('get secret s -o yaml'),
  run('describe secret s'),
  run('get secrets,configmaps -l none=x'),
  run('create configmap c --from-literal=k=v'),
  run('label cm c a=b'),
  run('edit cm c', { env: { KUBE_EDITOR: "sed -i 's/k: v/k: w/'" } }),
  run('get cm c -o jsonpath={.data}'),
  run('apply -f -', {
    input: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c2' }, data: { a: '1', b: '2' } },
  }),
  run('apply -f -', {
    input: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c2' }, data: { b: '3' } },
  }),
  run('get cm c2 -o jsonpath={.data}'),
  run('apply -f - --server-side', {
    input: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c2' }, data: { b: '3', c: '4' } },
  }),
  run('describe cm c'),
  run('get ns $ns'),
  run('apply -f -', { input: agent({ command: ['sleep', '1'], env: [{ name: 'A', value: '1' }] }) }),
  run('get agents'),
  run('get ag -o wide'),
  run('scale agent helper --replicas=2'),
  run('apply -f -', { input: agent({ runtime: { class: 'Moon' } }) }),
  run('apply -f -', { input: agent({ code: { path: 'a', inline: { b: 'c' } } }) }),
  run('apply -f -', { input: agent({ comand: ['typo'] }) }),
  run('delete agent helper'),
  run('get wd --watch --output-watch-events --request-timeout=2s'),
  run('delete wd a b'),
  run('wait wd/a --for=delete --timeout=5s'),
  run('delete -f -', { input: widget('c') }),
  run('delete -f - --ignore-not-found', { input: widget('c') }),
  run('delete wd --all'),
  run('delete cm,secret --all --wait=false', { only: 'code' }),
];

/** Arguments with spaces in them, which `run` cannot split. */
session.splice(
  session.findIndex((command) => command.args[0] === 'edit'),
  0,
  { args: ['patch', 'wd', 'a', '--subresource=status', '--type', 'merge', '-p', ready] },
);

/** Compares what kubectl prints against both servers; alone, ours must carry the session through. */
export function compareKubectl(running: () => readonly Server[]): void {
  test('a session prints the same on both servers', { timeout: 300_000 }, async (t) => {
    const servers = running();
    if (servers.length < 2) return t.skip('SKIPPED: needs our server and the real one');
    const spaces = await Promise.all(servers.map((server) => createBench(server).namespace()));
    for (const command of session) {
      const results = await Promise.all(
        servers.map((server, index) => execute(server, command, spaces[index] ?? '')),
      );
      await t.test(`kubectl ${command.args.join(' ').slice(0, 100)}`, () =>
        assert.deepEqual(results[0], results[1]),
      );
    }
  });
}

async function execute(server: Server, command: Command, namespace: string): Promise<unknown> {
  const fill = (text: string) => text.replaceAll('$ns', namespace);
  const result = await server.kubectl(['--namespace', namespace, ...command.args.map(fill)], {
    ...(command.input === undefined ? {} : { input: fill(JSON.stringify(command.input)) }),
    ...(command.env === undefined ? {} : { env: command.env }),
  });
  return command.only === 'code' ? { code: result.code } : normalize(result, namespace);
}

/** Leaves out what must differ: names of namespaces, identities, versions, times, temporary files, column widths. */
function normalize({ code, stdout, stderr }: KubectlResult, namespace: string) {
  const clean = (text: string) =>
    text
      // The real server repeats the whole object before it says what is wrong with it.
      .replace(/patch: Invalid value: "(?:[^"\\]|\\.)*": strict/g, 'patch: Invalid value: strict')
      .replaceAll(namespace, '$ns')
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uid>')
      .replace(/resourceVersion(["']?): ?"?\d+"?/g, 'resourceVersion: <version>')
      .replace(/Resource Version: +\d+/g, 'Resource Version: <version>')
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>')
      .replace(/\b\d+(s|m|h|d)(\d+(s|m|h))?\b/g, '<age>')
      .replace(/https:\/\/127\.0\.0\.1:\d+/g, '<server>')
      .replace(/\/\S*kubectl-edit-\S+/g, '<file>')
      .replace(/[ \t]+/g, ' ')
      .replace(/ $/gm, '');
  return { code, stdout: clean(stdout).split('\n'), stderr: clean(stderr).split('\n') };
}
