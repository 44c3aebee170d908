import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CliError } from './errors.ts';
import { type GlobalOptions, requireCluster, requireWorkspace, targetOf } from './target.ts';

const usage = (error: unknown) => error instanceof CliError && error.exitCode === 2;
const clusterOptions: readonly GlobalOptions[] = [
  { context: 'prod' },
  { kubeconfig: '/k' },
  { cluster: true },
  { router: 'http://r' },
  { homeNamespace: 'h' },
];

test('without a word of either, the workspace in the present folder is meant', () => {
  assert.deepEqual(targetOf({ namespace: 'team' }, 'ploinky'), { kind: 'workspace', folder: '.' });
  assert.deepEqual(targetOf({ workspace: 'w' }, 'ploinky'), { kind: 'workspace', folder: 'w' });
});

test('each option of clusters means a cluster, and none of them goes with a workspace', () => {
  for (const options of clusterOptions) {
    const { kubeconfig, context } = options;
    assert.deepEqual(targetOf(options, 'ploinky'), { kind: 'cluster', request: { kubeconfig, context } });
    assert.throws(() => targetOf({ ...options, workspace: '.' }, 'ploinky'), usage);
  }
});

test('as a plugin of kubectl the current context is meant, unless a workspace is named', () => {
  assert.equal(targetOf({}, 'kubectl ploinky').kind, 'cluster');
  assert.equal(targetOf({ workspace: '.' }, 'kubectl ploinky').kind, 'workspace');
});

test('verbs of only one kind of place refuse the other, and find theirs when none is named', () => {
  const named = fc.constantFrom(...clusterOptions);
  fc.assert(
    fc.property(named, (options) => {
      assert.throws(() => requireWorkspace('up', options, ''), usage);
      assert.equal(requireCluster('install', options).context, options.context);
    }),
  );
  assert.equal(requireWorkspace('up', {}, ''), '.');
  assert.deepEqual(requireCluster('install', {}), { kubeconfig: undefined, context: undefined });
  assert.throws(() => requireCluster('install', { workspace: '.' }), usage);
});
