import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { TestServer } from '#agent-server/testing/harness.ts';
import { type Agent, agentSpecSchema } from '#api/agent.ts';
import { customResourceDefinitions } from '#api/crd.ts';
import type { Resource } from '#api/meta.ts';
import { agentResource, taskResource } from '#api/resources.ts';
import { taskSpecSchema } from '#api/task/spec.ts';
import type { Task } from '#api/task.ts';
import { startApiServer } from '#apiserver/start.ts';
import { createAgentReports } from '#controllers/agent/reports.ts';
import { createAttempts } from '#controllers/task/attempts.ts';
import { createTaskController } from '#controllers/task/controller.ts';
import { taskIndexes } from '#controllers/task/indexes.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { type Client, createClient } from '#kube/client.ts';
import { unixEndpoint } from '#kube/endpoint.ts';
import { createInformer } from '#kube/informer.ts';
import { followChanges } from '#wire/changes.ts';

/** The workspace API, an agent-server, and as many controllers of Tasks as a test wants. */
export interface Stand {
  readonly user: Client;
  /** Makes the Agent known whose agent-server this is, Ready. */
  addAgent(server: TestServer, spec?: object): Promise<Agent>;
  makeTask(name: string, spec: object): Promise<Task>;
  tasks(): Promise<readonly Task[]>;
  /** Starts another controller. Returns its stop function. */
  control(identity: string, server: TestServer): Promise<() => Promise<void>>;
}

const common = { clock: systemClock, random: systemRandom, log: silentLog };
const time = '2026-01-01T00:00:00Z';
/** As the agent-server of `testServer` has them. */
const target = {
  agent: { namespace: 'default', name: 'demo', uid: 'uid-1' },
  instance: 'instance-1',
  keys: [{ kid: 'test', secret: Buffer.alloc(32, 7) }],
};

export async function createStand(t: TestContext): Promise<Stand> {
  const folder = mkdtempSync(join(tmpdir(), 'tasks-'));
  const socket = join(folder, 'api.sock');
  const definitions = customResourceDefinitions();
  const api = await startApiServer({ ...common, definitions, dataFolder: join(folder, 'data'), socket });
  const connect = () => createClient({ endpoint: unixEndpoint(socket), clock: systemClock });
  const user = connect();
  const stops: (() => Promise<void>)[] = [];
  t.after(async () => {
    await Promise.all(stops.map((stop) => stop()));
    await user.close();
    await api.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    user,
    addAgent: (server, spec = {}) => addAgent(user, addressOf(server), spec),
    makeTask: (name, spec) =>
      user.create<Task>(taskResource, {
        apiVersion: 'ploinky.dev/v1alpha1',
        kind: 'Task',
        metadata: { namespace: 'default', name },
        spec: taskSpecSchema.parse({ agentRef: { name: 'demo' }, tool: 'mark', ...spec }),
      }),
    tasks: async () => (await user.list<Task>(taskResource, { namespace: 'default' })).items,
    async control(identity, server) {
      const stop = await control(unsteady(connect()), identity, addressOf(server));
      stops.push(stop);
      return stop;
    },
  };
}

/** Of two controllers in one process the same one would be first each time: each write takes a while of its own. */
function unsteady(client: Client): Client {
  return new Proxy(client, {
    get(inner, name) {
      const value: unknown = Reflect.get(inner, name);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]) => {
        if (name === 'applyStatus') await systemClock.sleep(30 * systemRandom.fraction());
        return Reflect.apply(value, inner, args) as unknown;
      };
    },
  });
}

function addressOf({ url }: TestServer): string {
  return new URL(url).host;
}

async function addAgent(user: Client, address: string, spec: object): Promise<Agent> {
  const agent = await user.create<Agent>(agentResource, {
    apiVersion: 'ploinky.dev/v1alpha1',
    kind: 'Agent',
    metadata: { namespace: 'default', name: 'demo' },
    spec: agentSpecSchema.parse(spec),
  });
  const { instance: uid } = target;
  const ready = { type: 'Ready', status: 'True', reason: 'Ready', message: '', lastTransitionTime: time };
  return user.applyStatus<Agent>(
    agentResource,
    agent,
    {
      conditions: [{ ...ready, status: 'True' }],
      endpoints: [{ name: 'demo-0', uid, address, ready: true, terminating: false }],
    },
    { fieldManager: 'test' },
  );
}

async function control(client: Client, identity: string, address: string): Promise<() => Promise<void>> {
  const inform = <T extends Task | Agent>(resource: Resource, indexes = {}) =>
    createInformer<T>({ ...common, client, resource, indexes });
  const tasks = inform<Task>(taskResource, taskIndexes);
  const agents = inform<Agent>(agentResource);
  const attempts = createAttempts(systemClock, tasks.cache);
  const events = { event: () => undefined, stop: async () => undefined };
  const controller = createTaskController({ ...common, client, tasks, agents, attempts, events, identity });
  const reports = createAgentReports({
    ...common,
    open: followChanges,
    onChange: () => undefined,
    tasks: attempts,
  });
  await controller.start();
  const known = agents.cache.get({ namespace: 'default', name: target.agent.name })?.metadata.uid;
  const agent = { ...target.agent, uid: known ?? target.agent.uid };
  reports.follow(agent.uid, [{ ...target, agent, address, answers: true }]);
  let stopped = false;
  return async () => {
    if (stopped) return;
    stopped = true;
    await controller.stop({ graceMs: 0 });
    reports.close();
    await Promise.all([tasks.stop(), agents.stop()]);
    await client.close();
  };
}
