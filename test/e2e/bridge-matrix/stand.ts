import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startAgentServer } from '#agent-server/server.ts';
import { spawnerCommand, startQueueThread, testConfig } from '#agent-server/testing/harness.ts';
import type { Agent } from '#api/agent.ts';
import { systemClock } from '#kit/clock.ts';
import { digestOf } from '#kit/digest.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { startRouter } from '#router/start.ts';
import { type EditableTables, editableTables } from '#router/testing/harness.ts';
import { agentNamed, routeNamed } from '#routing/testing.ts';
import { checkout } from '#test/fixtures/workspace/workspace.ts';
import { followChanges } from '#wire/changes.ts';
import { type AgentIdentity, deriveAgentKey } from '#wire/keys.ts';
import { masterKey } from '#wire/testing.ts';
import { nameOf, type Way, yearOf } from './ways.ts';

// One router in front of an agent-server for each way, each with a process of the matrix server of its own: what one
// cell changes in its server, no other sees. Tokens, keys and sockets are the product's; only sandboxes are missing.

const program = join(checkout, 'test/fixtures/mcp-matrix-server/main.ts');
const base = { clock: systemClock, random: systemRandom, log: silentLog };
const master = masterKey(1);

/** Where a client can meet the agent of a way: by itself, and behind a Route that merges what its agents have. */
export const surfaces = ['agent', 'route'] as const;
export type Surface = (typeof surfaces)[number];

export interface Stand {
  /** A client adds `/mcp`. */
  url(way: Way, surface: Surface): string;
  close(): Promise<void>;
}

type Close = () => Promise<unknown>;

export async function startStand(ways: readonly Way[]): Promise<Stand> {
  const folder = await mkdtemp(join(tmpdir(), 'matrix-'));
  const closers: Close[] = [() => rm(folder, { recursive: true, force: true })];
  const close = async () => {
    for (const end of closers.reverse()) await end();
    closers.length = 0;
  };
  try {
    const agents = await Promise.all(ways.map((way) => startAgent(way, folder, closers)));
    const tables = await followAgents(agents, closers);
    const router = await startRouter(
      { ...base, tables, keys: { current: () => [master] }, version: '0.0.0' },
      { public: { host: '127.0.0.1', port: 0 } },
    );
    closers.push(() => router.close());
    const origin = `http://127.0.0.1:${router.port}`;
    return {
      url: (way, surface) => `${origin}/${surface === 'agent' ? 'mcps' : 'route'}/${nameOf(way)}`,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface RunningAgent {
  readonly identity: AgentIdentity;
  readonly address: string;
}

async function startAgent(way: Way, folder: string, closers: Close[]): Promise<RunningAgent> {
  const name = nameOf(way);
  const identity = { namespace: 'default', name, uid: `uid-${name}` };
  const server = await startAgentServer({
    ...base,
    config: {
      ...testConfig(folder),
      agent: { ...identity, instance: instanceOf(identity), principal: `agent:default/${name}` },
      keys: [keyOf(identity)],
      ...(await upstreamOf(way, closers)),
    },
    listen: { type: 'socket', path: join(folder, name) },
    spawnerCommand,
    startQueueThread,
  });
  closers.push(() => server.close());
  await server.settled;
  return { identity, address: server.address };
}

function keyOf(identity: AgentIdentity): { kid: string; secret: string } {
  const { kid, secret } = deriveAgentKey(master, identity);
  return { kid, secret: secret.toString('base64url') };
}

/** The table as the controller makes it of what the agent-servers say, each with a Route to it alone. */
async function followAgents(agents: readonly RunningAgent[], closers: Close[]): Promise<EditableTables> {
  const digests = new Map<string, string>();
  const routes = agents.map(({ identity: { name } }) =>
    routeNamed(name, { selector: { matchLabels: { agent: name } }, paths: [`/route/${name}`], mcp: {} }),
  );
  const tables = editableTables();
  const stop = new AbortController();
  closers.push(async () => stop.abort());
  const { promise: known, resolve, reject } = Promise.withResolvers<void>();
  for (const { identity, address } of agents) {
    const options = {
      ...base,
      agent: identity,
      address,
      instance: instanceOf(identity),
      signal: stop.signal,
    };
    void followChanges({ ...options, keys: [deriveAgentKey(master, identity)] }, (change) => {
      if (change.type !== 'state') return;
      digests.set(identity.name, digestOf(change.lists));
      tables.set(
        agents.map((agent) => agentObject(agent, digests.get(agent.identity.name) ?? '')),
        routes,
      );
      if (digests.size === agents.length) resolve();
    }).catch(reject);
  }
  await known;
  return tables;
}

const instanceOf = ({ name }: AgentIdentity) => `${name}-1`;

/** The Agent as the controller would report it. */
function agentObject({ identity, address }: RunningAgent, toolsDigest: string): Agent {
  const { name, uid } = identity;
  const instance = instanceOf(identity);
  const endpoint = { name: instance, uid: instance, address, ready: true, terminating: false };
  const status = { endpoints: [endpoint], toolsDigest, conditions: [] };
  return agentNamed(name, { uid, status, labels: { agent: name } });
}

async function upstreamOf({ server, transport }: Way, closers: Close[]) {
  const env = { PATH: process.env['PATH'] ?? '', ERAS: yearOf(server) };
  if (transport === 'stdio') return { env, mcp: { upstream: { stdio: [process.execPath, program] } } };
  const child = spawn(process.execPath, [program, '--http'], { stdio: ['ignore', 'pipe', 'inherit'], env });
  closers.push(async () => {
    const ended = once(child, 'exit');
    if (child.kill()) await ended;
  });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { mcp: { upstream: { port: Number(/listens on (\d+)/.exec(line)?.[1]) } } };
}
