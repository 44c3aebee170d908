import { metaKeys } from '#mcp/eras.ts';
import { createPlace, type Place } from '#test/fixtures/place/place.ts';
import { type Front, startFront } from '#test/fixtures/round-robin/front.ts';
import type { TaskWay, Way } from './baseline.ts';
import { addConformanceAgent, type Direct, startCommands, startDirect, type Variant } from './targets.ts';

// Where the server is measured: by itself (the control: what it fails there is the fixture's fault), and as an agent
// behind two routers, of which each takes every other request.

export interface Stand {
  /** Brings the way about, in place of the one before it, and says where it is reached. */
  reach(way: Way | TaskWay): Promise<string>;
  /** Requests that each of the routers got so far; none without routers. */
  readonly taken: readonly number[];
  close(): Promise<void>;
}

const agentPath = '/mcps/conformance/mcp';
const plain: Variant = {};
const commands: Variant = { commands: true };
type Behind = Exclude<Way | TaskWay, 'direct' | 'commands-direct'>;
const behind: Record<Behind, { readonly path: string; readonly variant: Variant }> = {
  router: { path: agentPath, variant: plain },
  aggregate: { path: '/mcp', variant: plain },
  stdio: { path: agentPath, variant: { stdio: true } },
  'bridge-2025': { path: agentPath, variant: { eras: '2025' } },
  'bridge-2026': { path: agentPath, variant: { eras: '2026' } },
  commands: { path: agentPath, variant: commands },
  'commands-aggregate': { path: '/mcp', variant: commands },
};

interface Ground {
  readonly place: Place;
  readonly replicas: readonly string[];
  readonly front: Front;
}

/** What it needs is started when the first way asks for it. */
export function openStand(): Stand {
  let direct: Direct | undefined;
  let commandsDirect: Direct | undefined;
  let place: Place | undefined;
  let ground: Ground | undefined;
  let present: Variant | undefined;

  async function findGround(): Promise<Ground> {
    place ??= await createPlace({ examples: [] });
    await place.up();
    const replicas = await place.replicas();
    return { place, replicas, front: await startFront(replicas) };
  }
  return {
    get taken() {
      return [...(ground?.front.taken ?? [])];
    },
    async reach(way) {
      if (way === 'direct') {
        direct ??= await startDirect();
        return direct.url;
      }
      if (way === 'commands-direct') {
        commandsDirect ??= await startCommands();
        return commandsDirect.url;
      }
      const { path, variant } = behind[way];
      ground ??= await findGround();
      if (present !== variant) {
        if (present !== undefined) await removeAgent(ground);
        await bringAgent(ground, variant);
        present = variant;
      }
      return `${ground.front.url}${path}`;
    },
    async close() {
      await direct?.stop();
      await commandsDirect?.stop();
      await ground?.front.close();
      await place?.remove();
    },
  };
}

async function bringAgent({ place, replicas }: Ground, variant: Variant): Promise<void> {
  await place.must('apply', '-f', await addConformanceAgent(place.folder, variant));
  await untilAll(replicas, true, () => place.must('get', 'agents', '-o', 'yaml'));
}

/** What the next one of its name is asked must not be answered from what the routers know of this one. */
async function removeAgent({ place, replicas }: Ground): Promise<void> {
  await place.must('delete', 'agent', 'conformance');
  await untilAll(replicas, false, async () => 'they go on listing the tools of an agent that was deleted');
}

const patienceMs = 120_000;

/** Resolves when each of the routers lists its tools, or none does, by itself and among all agents. */
async function untilAll(
  replicas: readonly string[],
  lists: boolean,
  explain: () => Promise<string>,
): Promise<void> {
  const deadline = performance.now() + patienceMs;
  for (const url of replicas.flatMap((replica) => [`${replica}${agentPath}`, `${replica}/mcp`])) {
    while ((await listsTools(url).catch(() => false)) !== lists) {
      if (performance.now() > deadline) throw new Error(`${url}: ${await explain()}`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

async function listsTools(url: string): Promise<boolean> {
  const _meta = { [metaKeys.protocolVersion]: '2026-07-28', [metaKeys.clientCapabilities]: {} };
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/list',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } }),
  });
  const { result } = (await answer.json()) as { result?: { tools?: unknown[] } };
  return (result?.tools?.length ?? 0) > 0;
}
