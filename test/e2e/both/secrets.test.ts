import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import {
  catches,
  coreLimit,
  isAgentServer,
  knownSecrets,
  namesIn,
  placeOf,
  plantedPod,
  podHits,
  standsOnReadOnly,
  tokensOf,
  wordsOf,
} from '#test/fixtures/canaries/cluster.ts';
import { type Look, lookInto } from '#test/fixtures/canaries/pods.ts';
import { type Canaries, scanText } from '#test/fixtures/canaries/scan.ts';
import { createPlace, missingPlace, type Place, placeKind } from '#test/fixtures/place/place.ts';
import type { Outcome } from '#test/fixtures/workspace/workspace.ts';
import { ask, untilTask } from '../agent-server/task-places.ts';

// A secret that is set with the command line reaches the agent that names it, and is in no object but the Secrets that
// carry it; on a cluster in no process but those of the agent, in no log, and in no file that a crash leaves.

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
    mcp: {
      tools: [
        { name: 'fails', description: 'Fails.', command: 'sh', args: ['count.sh', '1'] },
        { name: 'waits', command: 'sleep 4321', execution: { taskSupport: 'optional' } },
      ],
    },
  },
};

// On a cluster alone: another agent, with a secret and a program of its own, and a pod that shows what it should not.
const keptValue = 'canary-kept-value';
const planted = { PLANTED: 'canary-planted-"value"' };
const sent = {
  BEARER: 'canary-sent-bearer-value',
  COOKIE: 'canary-sent-cookie',
  PASSWORD: 'canary-sent-word',
};
const keeper = {
  apiVersion: 'ploinky.dev/v1alpha1',
  kind: 'Agent',
  metadata: { name: 'keeper' },
  spec: {
    env: [{ name: 'KEPT', valueFrom: { secretKeyRef: { name: 'kept', key: 'value' } } }],
    code: { inline: { 'main.sh': 'while :; do sleep 1; done' } },
    command: ['sh', 'main.sh'],
    mcp: { tools: [{ name: 'waits', command: 'sleep 4322', execution: { taskSupport: 'optional' } }] },
  },
};
const besides = [
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'kept' }, stringData: { value: keptValue } },
  keeper,
  plantedPod('planted', planted.PLANTED),
];
const agents = ['holder', 'keeper'] as const;
const programs = ['controller', 'router', 'egress'] as const;
const onCluster =
  placeKind === 'cluster' ? false : 'a laptop has no pods; test/e2e/secrets.test.ts looks into its processes';

describe('Secrets by name', { skip: missingPlace, timeout: 600_000 }, () => {
  let place: Place;
  let url = '';
  let looked: Look[] = [];
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
    const more = join(place.folder, 'besides.json');
    await writeFile(more, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: besides }));
    url = await place.up(path, ...(placeKind === 'cluster' ? [more] : []));
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

  it('are in no process of a pod but those of the agent that has them', { skip: onCluster }, async (t) => {
    const begin = async (agent: string) =>
      (await ask(`${url}/mcps/${agent}/mcp`, 'tools/call', { name: 'waits', arguments: {} }))['taskId'];
    const tasks = await Promise.all(agents.map(async (agent) => ({ agent, taskId: await begin(agent) })));
    // A cluster with a network of its own is made of processes of this machine.
    const waited = ['sleep 4321', 'sleep 4322', 'sleep 3600'];
    try {
      looked = await lookInto(t, kubectl, place.enter.length > 0, (seen) =>
        waited.every((words) => seen.some((each) => wordsOf(each) === words)),
      );
    } finally {
      for (const { agent, taskId } of tasks)
        await ask(`${url}/mcps/${agent}/mcp`, 'tasks/cancel', { taskId });
    }
    for (const { agent, taskId } of tasks) await untilTask(`${url}/mcps/${agent}/mcp`, taskId, 'cancelled');
    const { mayHave, all, names } = await knownSecrets(must, agents);
    for (const { way, processes } of looked) {
      const own = processes.filter(({ pod }) => pod !== 'planted');
      const tokens = tokensOf(own);
      assert.ok(Object.keys(tokens).length > 0, way);
      assert.deepEqual(
        podHits(own, { UNUSED: canaries['UNUSED'] ?? '', ...all, ...tokens }, mayHave),
        [],
        way,
      );
      // It does look: into every container, and each agent's program and tool have what they were given.
      const containers = new Set(
        own.filter(({ environ, cmdline }) => environ !== '' && cmdline !== '').map(placeOf),
      );
      const expected = [...programs, ...programs, 'agent', 'agent', 'agent-server'].sort();
      assert.deepEqual(
        [...containers]
          .map((each) => each.split('/')[1])
          .filter((name) => name !== 'pause')
          .sort(),
        expected,
        way,
      );
      const shown = podHits(own, all).join('\n');
      for (const hit of [
        /^KEY_OF_HOLDER in environ of holder-\S+\/agent sleep 4321$/m,
        /^OWN_OF_HOLDER in environ of holder-\S+\/agent sleep 4321$/m,
        /^KEPT_OF_KEEPER in environ of keeper-\S+\/agent-server sleep 4322$/m,
        /^KEPT_OF_KEEPER in environ of keeper-\S+\/agent sh main.sh$/m,
      ])
        assert.match(shown, hit, way);
      for (const [index, agent] of agents.entries()) {
        const tool = own.find((each) => wordsOf(each) === `sleep ${4321 + index}`);
        assert.ok(tool !== undefined);
        assert.equal(tool.pod.split('-')[0], agent);
        const known = [...(names[agent] ?? []), 'PLOINKY_CALL', 'PWD']; // the last by the shell
        assert.deepEqual(
          namesIn(tool).filter((name) => !known.includes(name)),
          [],
          agent,
        );
      }
      const values = Object.keys({ ...all, ...tokens }).length + 1;
      t.diagnostic(`${way}: ${own.length} processes in ${containers.size} containers, ${values} values`);
    }
  });

  it('would be found in the environment and the arguments of a process of a pod', { skip: onCluster }, () => {
    for (const { way, processes } of looked) {
      const found = podHits(processes, planted).map((hit) => hit.split(' ').slice(0, 5).join(' '));
      const expected = ['cmdline', 'environ'].map((file) => `PLANTED in ${file} of planted/planted`);
      assert.deepEqual([...new Set(found)].sort(), expected, way);
    }
    assert.ok(looked.length > 0);
  });

  it('are in no log of a pod', { skip: onCluster }, async () => {
    const headers = { authorization: `Bearer ${sent.BEARER}`, cookie: `ploinky_1=${sent.COOKIE}` };
    const body = new URLSearchParams({ username: 'ana', password: sent.PASSWORD });
    const paths = ['/mcps/holder/mcp', '/mcps/nobody/mcp', '/auth/login', '/auth/token', '/blobs/holder'];
    for (const path of paths) await (await fetch(url + path, { method: 'POST', headers, body })).text();
    const logs = (label: string) =>
      must('logs', '-l', label, '--all-containers', '--tail=-1', '--prefix', '--max-log-requests=20');
    const { all } = await knownSecrets(must, agents);
    for (const [label, names] of [
      ['app.kubernetes.io/name=ploinky', programs],
      ['ploinky.dev/agent', agents],
    ] as const) {
      const log = await logs(label);
      for (const name of names) assert.match(log, new RegExp(`^\\[pod/(ploinky-)?${name}-`, 'm'));
      assert.deepEqual(scanText(log, { ...canaries, ...all, ...sent }), [], label);
    }
    assert.deepEqual(scanText(await logs('planted=planted'), planted), ['PLANTED']);
  });

  it('are in no file that a crash or a signal leaves', { skip: onCluster }, async (t) => {
    // Each agent-server has a process that starts its tools.
    const own = (looked[0]?.processes ?? []).filter(
      (each) => isAgentServer(each) || programs.some((name) => wordsOf(each).includes(` /app/${name}.mjs `)),
    );
    assert.equal(own.length, 2 * programs.length + 2 * agents.length);
    const sigusr2 = 12;
    for (const each of own) {
      // A core lies where its process stood, unless the node says otherwise.
      assert.ok(standsOnReadOnly(each), `${wordsOf(each)} stands in ${each.cwd}`);
      assert.ok(!catches(each.status, sigusr2), wordsOf(each));
      assert.doesNotMatch(
        each.cmdline + each.environ,
        /heapsnapshot|--report-|--diagnostic|-prof|inspect|abort-on/,
      );
    }
    const flag = ['--heapsnapshot-signal=SIGUSR2', '-e', 'console.log(1); setInterval(() => {}, 9999)'];
    const control = spawn(process.execPath, flag, { stdio: ['ignore', 'pipe', 'ignore'] });
    await once(control.stdout, 'data');
    const status = await readFile(`/proc/${control.pid}/status`, 'utf8');
    control.kill('SIGKILL');
    assert.ok(catches(status, sigusr2));

    const pod = own.find(({ container }) => container === 'agent')?.pod ?? '';
    const crash = `cd "$1" && { sh -c 'ulimit -c unlimited && kill -SEGV $$'; ls "$1" | grep -c ^core; rm -f "$1"/core*; true; }`;
    const cores = async (folder: string) =>
      (await must('exec', pod, '-c', 'agent', '--', 'sh', '-c', crash, 'sh', folder)).trim();
    const pattern = (
      await must('exec', pod, '-c', 'agent', '--', 'cat', '/proc/sys/kernel/core_pattern')
    ).trim();
    t.diagnostic(
      `core limits ${[...new Set(own.map(coreLimit))].join(', ')}; the node's core_pattern is ${pattern}`,
    );
    if (/^[|/]/.test(pattern) || !own.every((each) => coreLimit(each).endsWith('unlimited')))
      return t.skip(`cores of this node (${pattern}) do not lie where their process stood`);
    assert.equal(await cores('/code'), '0');
    assert.equal(await cores('/workspace'), '1');
  });

  function kubectl(...args: string[]): Promise<Outcome> {
    assert.ok(place.kubectl !== undefined);
    return place.kubectl(...args);
  }
  async function must(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await kubectl(...args);
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${stderr}`);
    return stdout;
  }
});

/** What Helm keeps of a release: base64 in base64, compressed. */
function released(data: string): string {
  const bytes = Buffer.from(Buffer.from(data, 'base64').toString(), 'base64');
  return gunzipSync(bytes).toString();
}
