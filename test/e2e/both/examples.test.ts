import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createPlace, missingPlace, type Place } from '#test/fixtures/place/place.ts';
import { peers } from '../clients.ts';

// All example agents in one place, called by three independent clients; every step through the command line.
const examples = ['everything', 'files', 'hello', 'memory', 'own-server'];

/** One call to each agent: the tool, its arguments, what the answer must contain. */
const calls: readonly [string, string, Record<string, string | number>, string][] = [
  ['hello', 'greet', { name: 'Ana' }, 'Hello, Ana!'],
  ['everything', 'echo', { message: 'ping' }, 'ping'],
  ['files', 'list_allowed_directories', {}, 'Allowed directories'],
  ['memory', 'read_graph', {}, 'entities'],
  ['own-server', 'add', { a: 19, b: 23 }, '42'],
];

describe('The example agents', { skip: missingPlace, timeout: 600_000 }, () => {
  let place: Place;
  let url = '';
  before(async () => {
    place = await createPlace({ examples });
    url = await place.up();
  });
  after(() => place?.remove());

  it('are all Ready', async () => {
    const { agents } = JSON.parse(await place.must('status', '-o', 'json')) as {
      agents: { name: string; stage: string; toolCount: number }[];
    };
    assert.deepEqual(agents.map(({ name }) => name).sort(), examples);
    for (const { name, stage, toolCount } of agents) {
      assert.equal(stage, 'Ready', name);
      assert.ok(toolCount > 0, name);
    }
  });

  for (const peer of peers) {
    it(`list the tools of every agent to ${peer.name}, and answer its calls`, async (t) => {
      if (peer.missing !== undefined) return t.skip(peer.missing);
      const session = await peer.connect(`${url}/mcp`);
      try {
        const names = await session.listTools();
        for (const [agent, tool, args, expected] of calls) {
          const name = names.find((listed) => listed === tool || listed.endsWith(`${agent}_${tool}`));
          assert.ok(name !== undefined, `${tool} of ${agent} is not among ${names.join(', ')}`);
          const answer = await session.callTool(name, args);
          assert.ok(answer.includes(expected), `${name} answered ${answer}`);
        }
      } finally {
        await session.close();
      }
    });

    it(`answer ${peer.name} one by one below /mcps, with the names that they gave`, async (t) => {
      if (peer.missing !== undefined) return t.skip(peer.missing);
      for (const [agent, tool, args, expected] of calls) {
        const session = await peer.connect(`${url}/mcps/${agent}/mcp`);
        try {
          assert.ok((await session.listTools()).includes(tool), `${agent}: ${tool}`);
          assert.ok((await session.callTool(tool, args)).includes(expected), `${agent}: ${tool}`);
        } finally {
          await session.close();
        }
      }
    });
  }

  it('serve a page, a browser client, an own API and health', async () => {
    for (const [path, expected] of [
      ['/hello/index.html', '<title>hello</title>'],
      ['/MCPBrowserClient.js', 'createAgentClient'],
      ['/apis/own-server/time', '"now"'],
      ['/health', 'healthy'],
    ] as const) {
      const response = await fetch(`${url}${path}`);
      const body = await response.text();
      assert.equal(response.status, 200, `${path}: ${body.slice(0, 300)}`);
      assert.ok(body.includes(expected), path);
    }
    const hidden = await fetch(`${url}/hello/..%2fhello.yaml`);
    assert.ok(hidden.status >= 400);
  });

  it('are called by `ploinky call`, whose exit code tells a tool that failed and one that is not there', async () => {
    assert.equal((await place.must('call', 'greet', '-p', 'name=Ana')).trim(), 'Hello, Ana!');
    const failed = await place.ploinky('call', 'read_text_file', '-a', 'files', '-p', 'path=/etc/passwd');
    assert.equal(failed.code, 7, failed.stdout + failed.stderr);
    const missing = await place.ploinky('call', 'nope');
    assert.equal(missing.code, 4);
    assert.match(missing.stderr, /Tool 'nope' not found on any active agent\./);
  });

  it('are shown by the real kubectl', async (t) => {
    if (place.kubectl === undefined) return t.skip('kubectl is not installed');
    const { code, stdout, stderr } = await place.kubectl('get', 'agents');
    assert.equal(code, 0, stderr);
    for (const name of examples) assert.match(stdout, new RegExp(`^${name} +True`, 'm'));
  });

  it('write to a log that `ploinky logs` shows', async () => {
    assert.match(await place.must('logs', 'own-server'), /own-server listens on 7001/);
    assert.equal((await place.ploinky('logs', 'nobody')).code, 4);
  });

  it('are deleted, and the others stay', async () => {
    await place.must('delete', 'agent', 'memory');
    const left = await place.must('get', 'agents', '-o', 'name');
    assert.ok(!left.includes('memory') && left.includes('hello'), left);
  });
});
