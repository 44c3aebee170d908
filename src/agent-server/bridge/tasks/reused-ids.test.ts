import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemRandom } from '#kit/random.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { defaultSettings } from '../../config/settings.ts';
import type { AgentServerOptions } from '../../server.ts';
import type { CallContext } from '../../source.ts';
import { type TestServer, testServer } from '../../testing/harness.ts';
import { sessionClient } from '../testing.ts';
import { createTasks } from './tasks.ts';
import { canAll, clientOf, countingServer, takesTasks, taskIn } from './testing.ts';

const timeout = 60_000;
const nothing = {};

interface Start {
  readonly eras?: 'both';
  readonly limits?: Record<string, number>;
  readonly options?: Partial<AgentServerOptions>;
}

/** Before a server whose every process calls its first task `1`. */
function startCounting(t: TestContext, { eras, limits = {}, options }: Start = {}): Promise<TestServer> {
  const env = { PATH: process.env['PATH'] ?? '', ERAS: eras ?? '' };
  const upstream = { stdio: [process.execPath, countingServer] as [string, ...string[]] };
  return testServer(t, { limits, env, mcp: { upstream } }, { withoutTokens: false, ...options });
}

type Client = ReturnType<typeof clientOf>;

async function begin(client: Client, note: string): Promise<string> {
  return taskIn(await client('tools/call', { name: 'begin', arguments: { note }, task: {} }));
}

/** What the server says of the task, or the code of its error. */
async function look(client: Client, taskId: string): Promise<unknown> {
  const { result, error } = await client('tasks/get', { taskId });
  return error?.code ?? result['statusMessage'];
}

test('an id of a process that has ended does not reach the task that has it now (K2, K3)', {
  timeout,
}, async (t) => {
  const agent = await startCounting(t);
  const ana = clientOf(agent, 'ana', 's1', nothing);
  const ben = clientOf(agent, 'ben', 's2', nothing);
  const old = await begin(ana, 'of Ana');
  assert.equal(await look(ana, old), 'of Ana');
  await ana('tools/call', { name: 'end', arguments: {} });
  const own = await begin(ben, 'of Ben');
  assert.equal(await look(ben, own), 'of Ben');
  assert.equal(await look(ana, old), -32_602);
  for (const method of ['tasks/cancel', 'tasks/result'])
    assert.equal((await ana(method, { taskId: old })).error.code, -32_602, method);
});

test('a task that was forgotten is not looked for where its id is another’s (K2, K3)', {
  timeout,
}, async (t) => {
  const agent = await startCounting(t, { limits: { maxKnownTasks: 1 } });
  const ana = clientOf(agent, 'ana', 's1', canAll);
  const own = await begin(ana, 'of Ana');
  await begin(clientOf(agent, 'ben', 's2', nothing), 'of Ben');
  assert.equal(await look(clientOf(agent, 'ana', 's3', nothing), own), -32_602);
  assert.equal(await look(ana, own), 'of Ana', 'where it began it is still found');
});

test('the tasks of the two processes of a server of both eras are told apart (K2, K3)', {
  timeout,
}, async (t) => {
  const agent = await startCounting(t, { eras: 'both' });
  const ana = clientOf(agent, 'ana', 's1', nothing);
  const ben = clientOf(agent, 'ben');
  const [ofAna, ofBen] = [await begin(ana, 'of Ana'), await begin(ben, 'of Ben')];
  assert.equal(await look(ana, ofAna), 'of Ana');
  assert.equal(await look(ben, ofBen), 'of Ben');
  assert.equal(await look(clientOf(agent, 'ana'), ofAna), -32_602);
  assert.equal(await look(clientOf(agent, 'ben', 's2', nothing), ofBen), -32_602);
});

test('a list has no task of another under an id of one’s own (K5)', { timeout }, async (t) => {
  const agent = await startCounting(t);
  await begin(clientOf(agent, 'ana', 's1', canAll), 'of Ana');
  const ben = clientOf(agent, 'ben', 's2', nothing);
  const ofBen = await begin(ben, 'of Ben');
  const listed = async (client: Client) => {
    const tasks = (await client('tasks/list')).result['tasks'] as { taskId: string }[];
    return tasks.map(({ taskId }) => taskId);
  };
  assert.deepEqual(await listed(ben), [ofBen]);
  assert.deepEqual(await listed(clientOf(agent, 'ana', 's3', nothing)), []);
});

test('what is told in one process is not told of a task in another (K5)', { timeout }, async (t) => {
  const agent = await startCounting(t, { options: { withoutTokens: true } });
  const [ana, ben] = [await sessionClient(agent, canAll), await sessionClient(agent)];
  const stream = ana.listen();
  t.after(() => stream.abort());
  await stream.status();
  const call = (name: string, note: string) => ({ name, arguments: { note }, task: {} });
  const own = taskIn(await ana.request('tools/call', call('begin', 'of Ana')).next());
  await ben.request('tools/call', call('hurry', 'of Ben')).next();
  await ana.call('tell').next();
  const { params = {} } = await stream.next();
  assert.deepEqual([params['taskId'], params['statusMessage']], [own, 'of Ana']);
});

/** As tasks.ts sees a client of 2026-07-28. */
const clientNamed = (sub: string): CallContext => ({
  ...{ era: 'stateless', revision: '2026-07-28', session: undefined, requestId: 1, headers: {} },
  claims: { caller: 'router:first-party', sub } as CallContext['claims'],
  ...{ token: undefined, capabilities: takesTasks, signal: new AbortController().signal },
  ...{ onProgress: undefined, logLevel: undefined, onLog: () => undefined },
});

function tasksOf(t: TestContext) {
  const tasks = createTasks({
    ...{ keys: () => [{ kid: 'test', secret: Buffer.alloc(32, 7) }], instance: 'instance-1' },
    ...{ settings: defaultSettings, clock: createFakeClock(), random: systemRandom },
    onDropped: () => undefined,
  });
  t.after(() => tasks.close());
  return tasks;
}

const begun = { resultType: 'task', taskId: '1', status: 'working' };
const refused = { code: -32_602 };

test('a task that is another’s by now is not listened to (K2, K8)', async (t) => {
  const tasks = tasksOf(t);
  const [ana, ben] = [clientNamed('ana'), clientNamed('ben')];
  const send = () => Promise.reject(new Error('nothing is sent'));
  const name = async (client: CallContext) =>
    String((await tasks.begun('stateless', begun, client, client, send))['taskId']);
  const ofAna = await name(ana);
  assert.equal(tasks.idOf(ofAna, ana), '1');
  const ofBen = await name(ben);
  assert.throws(() => tasks.idOf(ofAna, ana), refused);
  assert.equal(tasks.idOf(ofBen, ben), '1');
});

test('a task that a client of 2025 waits for is not another’s, either (K2, R13)', async (t) => {
  const tasks = tasksOf(t);
  const ana = clientNamed('ana');
  const ben: CallContext = { ...clientNamed('ben'), era: 'sessions', session: 's2', capabilities: {} };
  const sent: string[] = [];
  const send = async (method: string) => {
    sent.push(method);
    return begun;
  };
  const ofAna = String((await tasks.begun('stateless', begun, ana, ana, send))['taskId']);
  // Until the test's clock moves on nobody asks how far it is.
  void tasks.begun('stateless', begun, ben, ben, send);
  await assert.rejects(tasks.request('stateless', 'tasks/get', { taskId: ofAna }, ana, send), refused);
  assert.deepEqual(sent, []);
});

test('what is heard of a task that became another’s meanwhile is not passed on (K2)', async (t) => {
  const tasks = tasksOf(t);
  const [ana, ben] = [clientNamed('ana'), clientNamed('ben')];
  const answer = Promise.withResolvers<Record<string, unknown>>();
  const send = () => answer.promise;
  const ofAna = String((await tasks.begun('stateless', begun, ana, ana, send))['taskId']);
  const look = tasks.request('stateless', 'tasks/get', { taskId: ofAna }, ana, send);
  await tasks.begun('stateless', begun, ben, ben, send);
  answer.resolve({ ...begun, statusMessage: 'of Ben' });
  await assert.rejects(look, refused);
});
