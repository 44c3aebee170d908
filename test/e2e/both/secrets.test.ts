import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { type Canaries, scanText } from '#test/fixtures/canaries/scan.ts';
import { createPlace, missingPlace, type Place } from '#test/fixtures/place/place.ts';

// A secret that is set with the command line reaches the agent that names it, and is in no object but the Secrets that
// carry it.

const canaries: Canaries = {
  USED: 'canary-both/used+"value" 1',
  UNUSED: 'canary-both-unused-value',
};
const holder = {
  apiVersion: 'ploinky.dev/v1alpha1',
  kind: 'Agent',
  metadata: { name: 'holder' },
  spec: {
    env: [
      { name: 'KEY', valueFrom: { alias: 'LINK' } },
      { name: 'OWN', valueFrom: { derive: { name: 'own', bytes: 16 } } },
    ],
    code: { inline: { 'count.sh': 'echo "${#KEY} ${#OWN}"; echo "key: $KEY" >&2; exit $1' } },
    mcp: { tools: [{ name: 'fails', description: 'Fails.', command: 'sh', args: ['count.sh', '1'] }] },
  },
};

describe('Secrets by name', { skip: missingPlace, timeout: 600_000 }, () => {
  let place: Place;
  before(async () => {
    place = await createPlace({ examples: [] });
  });
  after(() => place?.remove());

  async function set(name: string, value: string): Promise<void> {
    const { file, args, env } = place.start('secret', 'set', name);
    const child = spawn(file, [...args], { env, stdio: ['pipe', 'pipe', 'pipe'] });
    child.stdin.end(value);
    const [[code], said] = await Promise.all([once(child, 'close'), text(child.stderr), text(child.stdout)]);
    assert.equal(code, 0, said);
  }

  it('reach the agent through an alias', async () => {
    for (const [name, value] of Object.entries(canaries)) await set(name, value);
    await place.must('secret', 'set', 'LINK', '--alias', 'USED');
    const path = join(place.folder, 'holder.json');
    await writeFile(path, JSON.stringify(holder));
    await place.up(path);
    const answer = await place.ploinky('task', 'run', 'holder', 'fails', '--name', 'failing');
    assert.equal(answer.code, 7, answer.stderr);
    const list = await place.must('secret', 'list');
    assert.match(list, /^USED .* holder /m);
    assert.deepEqual(scanText(list, canaries), []);
  });

  it('are in no object that others may read, in no log and no answer', async () => {
    const kinds = ['agents', 'tasks', 'routes', 'events', 'configmaps', 'leases'];
    const answers = [
      ...kinds.map((kind) => ['get', kind, '-o', 'yaml']),
      ['describe', 'agent', 'holder'],
      ['describe', 'task', 'failing'],
      ['logs', 'holder'],
    ];
    for (const args of answers)
      assert.deepEqual(scanText(await place.must(...args), canaries), [], args.join(' '));
    assert.match(await place.must('describe', 'task', 'failing'), /key: \[redacted\]/);
  });

  it('are in no pod, event or release of the cluster', async (t) => {
    if (place.kind === 'laptop' || place.kubectl === undefined) return t.skip('a laptop has neither');
    const get = async (...args: string[]) =>
      (await place.kubectl?.('get', ...args, '-o', 'json'))?.stdout ?? '';
    for (const kind of ['pods', 'events', 'configmaps', 'networkpolicies'])
      assert.deepEqual(scanText(await get(kind, '-A'), canaries), [], kind);
    const { items } = JSON.parse(await get('secrets', '-A')) as {
      items: { metadata: { name: string }; type?: string; data?: Record<string, string> }[];
    };
    const decoded = items.map(({ metadata, type, data }) => ({
      name: metadata.name,
      text: Object.values(data ?? {})
        .map((value) =>
          type === 'helm.sh/release.v1' ? released(value) : Buffer.from(value, 'base64').toString(),
        )
        .join('\n'),
    }));
    const holding = decoded
      .filter((secret) => scanText(secret.text, canaries).length > 0)
      .map(({ name }) => name);
    // The Secret itself, which shows that the scan finds it, and the one that carries the agent's configuration.
    assert.ok(holding.includes('ploinky-secrets'), String(holding));
    assert.deepEqual(
      holding.filter((name) => name !== 'ploinky-secrets' && !name.startsWith('holder')),
      [],
    );
  });
});

/** What Helm keeps of a release: base64 in base64, compressed. */
function released(data: string): string {
  const bytes = Buffer.from(Buffer.from(data, 'base64').toString(), 'base64');
  return gunzipSync(bytes).toString();
}
