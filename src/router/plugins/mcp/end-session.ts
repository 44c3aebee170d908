import type { McpSurface } from '#routing/surface.ts';
import { endSessionBinding } from '#wire/binding.ts';
import type { Caller } from '../../caller.ts';
import { contextOf, type Session } from '../../mcp/sessions.ts';
import type { Services } from '../../services.ts';
import { collect } from '../../upstream/collect.ts';

/**
 * Ends a session of an aggregate: here at once, at the other routers before it resolves, at the agents best effort
 * and without waiting. Each of them keeps a tombstone, so that a late call does not wake the session up again.
 */
export async function endSession(
  services: Services,
  surface: McpSurface,
  session: Session,
  caller: Caller,
): Promise<void> {
  const told = endHere(services, session);
  const { targets } = services.tables.current();
  for (const name of surface.agents) {
    const agent = `${surface.namespace}/${name}`;
    if (targets.get(agent)?.unavailable !== undefined) continue;
    tellEnd(services, agent, session, caller).catch((error) =>
      services.log.debug('an agent was not told that a session ended', { agent, error }),
    );
  }
  await told;
}

/** Resolves when the other routers know it, too; never rejects. */
export async function endHere({ sessions, peers }: Services, session: Session): Promise<void> {
  sessions.end(session);
  await peers.tellEnded(session);
}

/** DELETE /mcp at one agent. */
export async function tellEnd(
  services: Services,
  agent: string,
  session: Session,
  caller: Caller,
): Promise<void> {
  const call = {
    agent,
    method: 'DELETE',
    path: '/mcp',
    headers: { 'mcp-protocol-version': session.revision },
    binding: endSessionBinding,
    caller,
    mcp: contextOf(session),
    lane: 'messages' as const,
    silenceMs: services.limits.listTimeoutMs,
    readyWaitMs: 0,
  };
  await collect(services.sender, call, { maxBytes: services.limits.answerBytes });
}
