/**
 * The agent-servers of many agents in one process: each has a socket of its own, proves that it holds its agent's key
 * and streams its state to whoever brings a token, by the product's own code. It has no tools and no MCP.
 */
import { createServer } from 'node:http';
import { createApp } from '#agent-server/http/app.ts';
import { createChanges } from '#agent-server/http/changes.ts';
import { proofHandler } from '#agent-server/http/surfaces.ts';
import { createGuard } from '#agent-server/mcp/guard.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { proofPath } from '#wire/challenge.ts';
import { createReplayWindow } from '#wire/replay.ts';
import { createVerifier } from '#wire/token.ts';

export interface AgentOrder {
  readonly socket: string;
  readonly instance: string;
  readonly principal: string;
  readonly key: { readonly kid: string; readonly secret: string };
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

function serve(
  { socket, instance, principal, key: { kid, secret } }: AgentOrder,
  listening: () => void,
): void {
  const key = { kid, secret: Buffer.from(secret, 'base64url') };
  const clock = systemClock;
  const replay = createReplayWindow({ clock });
  const guard = createGuard(createVerifier({ keys: [key], audience: principal, instance, clock, replay }));
  const changes = createChanges({ clock, guard, instance, state: () => state, maxStreams: 8 });
  const exact = new Map([
    [proofPath, proofHandler(() => [key], instance)],
    ['/changes', changes.handler],
  ]);
  createServer(createApp({ exact, prefixes: [] }, silentLog)).listen(socket, listening);
}

process.on('message', (order: AgentOrder) => {
  serve(order, () => process.send?.({ instance: order.instance }));
});
process.on('disconnect', () => process.exit(0));
