import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runOf } from '../bwrap/testing.ts';
import { quote, renderProfile } from './profile.ts';

const options = {
  state: '/home/me/project/.ploinky',
  programs: ['/opt/node/bin/node', '/opt/ploinky/agent-server.mjs'],
};
const lines = (text: string) => text.trim().split('\n');

describe('renderProfile', () => {
  it('denies everything first', () => {
    assert.deepEqual(lines(renderProfile(runOf(), options)).slice(0, 2), ['(version 1)', '(deny default)']);
  });
  it('lets the agent write its workspace and the shared folder only', () => {
    const writes = lines(renderProfile(runOf(), options)).filter(
      (line) => line.startsWith('(allow') && /file-write\*/.test(line),
    );
    assert.deepEqual(writes, [
      '(allow file-read* file-write* (subpath "/home/me/project/.ploinky/agents/demo") (subpath "/home/me/project/.ploinky/shared"))',
    ]);
  });
  it('hides .ploinky before it allows what the run owns of it', () => {
    const all = lines(renderProfile(runOf({ code: '/home/me/project' }), options));
    const denied = all.indexOf('(deny file-read* file-write* (subpath "/home/me/project/.ploinky"))');
    const workspace = all.findIndex((line) => line.startsWith('(allow file-read* file-write*'));
    const code = all.findIndex((line) => line.includes('(subpath "/home/me/project")'));
    assert.ok(code >= 0 && code < denied && denied < workspace);
  });
  it('lets an install step write what it installs, not the code', () => {
    const run = runOf(
      { deps: '/d/tree', cache: '/d/cache', workspace: undefined, shared: undefined, codeWritable: true },
      'install',
    );
    const [writes] = lines(renderProfile(run, options)).filter((line) =>
      line.startsWith('(allow file-read* file-write*'),
    );
    assert.equal(writes, '(allow file-read* file-write* (subpath "/d/tree") (subpath "/d/cache"))');
  });
  it('allows the network of this machine only', () => {
    const network = lines(renderProfile(runOf(), options)).filter((line) => line.includes('network'));
    assert.deepEqual(network, [
      '(allow network-outbound file-read* (subpath "/run/user/1000/p/w/b/k/in"))',
      '(allow network-bind network-inbound (local ip "localhost:*"))',
      '(allow network-outbound (remote ip "localhost:*"))',
    ]);
  });
});

describe('quote', () => {
  it('keeps a path from ending its string', () => {
    assert.equal(quote('/a "b" \\c'), '"/a \\"b\\" \\\\c"');
    assert.throws(() => quote('/a\n(allow default)'), /control characters/);
  });
});
