import type { Speaker } from '../../mcp/inbound.ts';

/** Which agent runs a session's request, so that `notifications/cancelled` finds it. Forgets nothing but ends. */
export interface InFlight {
  /** Returns the function that forgets the request again. */
  add(key: string, agent: string): () => void;
  agentOf(key: string): string | undefined;
}

export function createInFlight(): InFlight {
  const agents = new Map<string, string>();
  return {
    add(key, agent) {
      agents.set(key, agent);
      return () => agents.delete(key);
    },
    agentOf: (key) => agents.get(key),
  };
}

export function inFlightKey(speaker: Speaker, id: unknown): string {
  const session = speaker.era === 'sessions' ? speaker.session?.key : undefined;
  return `${session ?? ''} ${JSON.stringify(id)}`;
}
