import assert from 'node:assert/strict';
import { test } from 'node:test';
import { workspacePaths } from './paths.ts';

const host = { uid: 1000, xdgRuntimeDir: '/run/user/1000', tmpdir: '/tmp' };

test('state lies under .ploinky and sockets under the runtime folder', () => {
  const paths = workspacePaths('/home/ana/project', host);
  assert.equal(paths.state, '/home/ana/project/.ploinky');
  assert.equal(paths.agentLog('demo'), '/home/ana/project/.ploinky/logs/agents/demo.log');
  assert.match(paths.apiSocket, /^\/run\/user\/1000\/ploinky-1000\/[0-9a-f]{8}\/api\.sock$/);
});

test('a workspace path of 200 characters leaves the sockets as short as any other', () => {
  const long = workspacePaths(`/${'long folder name '.repeat(12)}`, host);
  const short = workspacePaths('/w', host);
  assert.equal(long.apiSocket.length, short.apiSocket.length);
  assert.ok(Buffer.byteLength(join40(long.workloads)) <= 107);
});

test('two workspaces have different runtime folders', () => {
  assert.notEqual(workspacePaths('/a', host).runtime, workspacePaths('/b', host).runtime);
});

test('a runtime folder that is too long or not absolute is passed over', () => {
  const deep = `/run/${'x'.repeat(60)}`;
  assert.match(workspacePaths('/a', { ...host, xdgRuntimeDir: deep }).runtime, /^\/tmp\/ploinky-1000\//);
  assert.match(workspacePaths('/a', { ...host, xdgRuntimeDir: 'run' }).runtime, /^\/tmp\//);
  const nothing = { uid: 0, xdgRuntimeDir: undefined, tmpdir: deep };
  assert.match(workspacePaths('/a', nothing).runtime, /^\/tmp\/ploinky-0\//);
});

/** The room a driver may count on for one workload's socket below `workloads`. */
function join40(workloads: string): string {
  return `${workloads}/${'n'.repeat(39)}`;
}
