import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { validateAgent, validateRoute } from '#api/validate.ts';
import { attack } from '#test/fixtures/attack-sandbox.ts';
import { bwrapAvailability, createDriverHost } from '#test/fixtures/driver-host.ts';
import { debianLists, ownPayloads } from './injection/payloads.ts';
import { doors, hasBash, send, startVictim } from './injection/server.ts';

/** All lines of the lists of others take minutes: `make attacks` takes all, an ordinary run one of so many. */
const oneOf = process.env['PLOINKY_ATTACKS'] === 'all' ? 1 : 12;
const lists = debianLists();
const sandbox = await bwrapAvailability();

describe('commands in what people send', { timeout: 600_000 }, () => {
  for (const [door, messages] of Object.entries(doors)) {
    it(`do not run: ${door}`, async (t) => {
      const victim = await startVictim(t);
      for (const text of ownPayloads(join(victim.canaries, 'touched'))) {
        for (const message of messages(text)) await send(victim, message);
      }
      assert.deepEqual(victim.appeared(), []);
    });
  }

  it('do not run: lists of others, as a tool’s argument and in a resource’s address', {
    skip: 'missing' in lists && lists.missing,
  }, async (t) => {
    const victim = await startVictim(t);
    const lines = 'lines' in lists ? lists.lines.filter((_line, index) => index % oneOf === 0) : [];
    assert.ok(lines.length > 40);
    for (const line of lines) {
      const told = await send(victim, {
        method: 'tools/call',
        params: { name: 'line', arguments: { text: line } },
      });
      assert.equal(told, 'done');
      const uri = `item://${encodeURIComponent(line)}`;
      await send(victim, { method: 'resources/read', params: { uri } });
    }
    assert.deepEqual(victim.appeared(), []);
  });

  it('do run in a tool that pastes its argument into a shell’s line', {
    skip: !hasBash() && 'needs bash',
  }, async (t) => {
    const victim = await startVictim(t);
    const careless = async (text: string) =>
      send(victim, { method: 'tools/call', params: { name: 'careless', arguments: { text } } });
    let worked = 0;
    const payloads = ownPayloads(join(victim.canaries, 'touched'));
    for (const text of payloads) {
      await careless(text);
      if (victim.appeared().includes('touched')) worked += 1;
      rmSync(join(victim.canaries, 'touched'), { force: true });
    }
    t.diagnostic(`${worked} of ${payloads.length} of our own texts run there`);
    assert.ok(worked >= 25, `only ${worked} worked`);
    for (const line of 'lines' in lists ? lists.lines.filter((text) => /^[;|`]/.test(text)).slice(0, 10) : [])
      await careless(line);
    if ('lines' in lists) assert.notDeepEqual(victim.appeared(), [], 'no line of the lists worked');
  });

  it('do not run: values of the environment', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'canary-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const values = ownPayloads(join(folder, 'touched')).filter((text) => !text.includes('\0'));
    const env = Object.fromEntries(values.map((text, index) => [`VALUE_${index}`, text]));
    // A shell that reads one of these runs what it says.
    const victim = await startVictim(t, env);
    for (const name of ['program', 'file', 'line', 'line-with-arguments'])
      assert.match(
        (await send(victim, { method: 'tools/call', params: { name, arguments: {} } })) ?? '',
        /^(done|0|one)$/,
      );
    assert.deepEqual(readdirSync(folder), []);
  });

  it('do not run: names of files and folders that a sandbox is made of', {
    skip: !sandbox.ok && sandbox.reason,
  }, async (t) => {
    const host = createDriverHost('plk-names-');
    t.after(() => host.remove());
    chmodSync(host.folder, 0o755);
    // Relative, since a file's name has no slash; what a shell of ours ran would be in one of these folders.
    for (const text of ownPayloads('touched').filter((one) => !/[\0/]/.test(one) && one.length < 200)) {
      const project = join(host.folder, text);
      mkdirSync(project, { recursive: true });
      writeFileSync(join(project, 'file'), 'seen');
      const { stdout, stderr } = await attack(host, ['/bin/cat', '/code/file'], {
        code: { type: 'path', path: project, writable: false },
      });
      assert.equal(stdout, 'seen', `${JSON.stringify(text)}: ${stderr}`);
    }
    const canaries = ['touched', 'code/touched'].map((name) => join(host.folder, name));
    assert.deepEqual(canaries.filter(existsSync), []);
    assert.equal(existsSync('/touched') || existsSync('touched'), false);
  });

  it('are no names of Agents and Routes, and no paths of Routes', () => {
    const lines = [...ownPayloads('/tmp/touched'), ...('lines' in lists ? lists.lines : [])];
    const harmless = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;
    for (const name of lines) {
      const agent = { apiVersion: 'ploinky.dev/v1alpha1', kind: 'Agent', metadata: { name }, spec: {} };
      const route = { ...agent, kind: 'Route', spec: { agentRef: { name: 'demo' }, paths: [name] } };
      if (!harmless.test(name)) assert.notDeepEqual(validateAgent(agent), [], JSON.stringify(name));
      if (!/^(\/[A-Za-z0-9._~-]+)*\/?$/.test(name))
        assert.notDeepEqual(validateRoute(route), [], JSON.stringify(name));
    }
    const good = { apiVersion: 'ploinky.dev/v1alpha1', kind: 'Agent', metadata: { name: 'demo' }, spec: {} };
    assert.deepEqual(validateAgent(good), []);
  });
});
