import { createServer } from 'node:http';
import type { ListenOptions } from 'node:net';
import { createApp } from '#agent-server/http/app.ts';
import { createChanges } from '#agent-server/http/changes.ts';
import { proofHandler } from '#agent-server/http/surfaces.ts';
import { createGuard } from '#agent-server/mcp/guard.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { proofPath } from '#wire/challenge.ts';
import type { WireKey } from '#wire/keys.ts';
import { createReplayWindow } from '#wire/replay.ts';
import { createVerifier } from '#wire/token.ts';

export interface AgentServerOrder {
  readonly listen: ListenOptions;
  readonly instance: string;
  readonly principal: string;
  readonly key: WireKey;
}

const digest = 'sha256:none';
const state = {
  type: 'state',
  ready: true,
  reason: 'Ready',
  message: '',
  toolCount: 0,
  toolsDigest: digest,
  lists: { tools: digest, resources: digest, prompts: digest },
  idle: false,
} as const;

/**
 * The agent-server of one agent, by the product's own code: it proves that it holds the agent's key and streams its
 * state to whoever brings a token. It has no tools and no MCP. Resolves when it listens.
 */
export function serveAgent({ listen, instance, principal, key }: AgentServerOrder): Promise<void> {
  const clock = systemClock;
  const replay = createReplayWindow({ clock });
  const guard = createGuard(createVerifier({ keys: [key], audience: principal, instance, clock, replay }));
  const changes = createChanges({
    clock,
    guard,
    instance,
    state: () => state,
    maxStreams: 8,
    maxUnreadBytes: 1_000_000,
  });
  const exact = new Map([
    [proofPath, proofHandler(() => [key], instance)],
    ['/changes', changes.handler],
  ]);
  const server = createServer(createApp({ exact, prefixes: [] }, silentLog));
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(listen, resolve);
  });
}
