import type { ServerResponse } from 'node:http';
import type { Speaker } from '../../mcp/inbound.ts';
import type { Services } from '../../services.ts';
import { findReady } from '../../upstream/ready.ts';
import type { AgentCall } from '../../upstream/send.ts';

/** Where a request runs. */
export interface Running {
  /** `<namespace>/<name>`. */
  readonly agent: string;
  /** uid of the instance; undefined while none takes calls yet. */
  readonly instance: string | undefined;
}

/** Who runs a session's request, so that `notifications/cancelled` finds it. Forgets nothing but ends. */
export interface InFlight {
  /** The call as it is to be sent: to the instance that runs it until its answer to the client is closed. */
  place(key: string, call: AgentCall, client: ServerResponse): AgentCall;
  find(key: string): Running | undefined;
}

type PlaceServices = Pick<Services, 'tables' | 'clock' | 'limits'>;

export function createInFlight(services: PlaceServices): InFlight {
  const running = new Map<string, Running>();
  return {
    place(key, call, client) {
      if (call.mcp?.session === undefined) return call;
      client.on('close', () => running.delete(key));
      const found = placeOf(services, call);
      if (!(found instanceof Promise)) {
        const preferred = found.endpoint.uid;
        running.set(key, { agent: call.agent, instance: preferred });
        return { ...call, preferred };
      }
      const here: { agent: string; instance: string | undefined } = {
        agent: call.agent,
        instance: undefined,
      };
      running.set(key, here);
      found.then(
        ({ endpoint }) => {
          here.instance = endpoint.uid;
        },
        () => undefined,
      );
      return call;
    },
    find: (key) => running.get(key),
  };
}

/** As whoever sends the call finds it. */
function placeOf({ tables, clock, limits }: PlaceServices, call: AgentCall): ReturnType<typeof findReady> {
  const { agent, mcp, preferred, readyWaitMs: waitMs = limits.readyWaitMs } = call;
  return findReady(agent, { tables, clock, waitMs, affinity: mcp?.session, preferred });
}

export function inFlightKey(speaker: Speaker, id: unknown): string {
  const session = speaker.era === 'sessions' ? speaker.session?.key : undefined;
  return `${session ?? ''} ${JSON.stringify(id)}`;
}

/** A message about a request that runs, to where it does. */
export function toRunning(call: AgentCall, running: Running | undefined): AgentCall {
  const instance = running?.instance;
  return instance === undefined ? call : { ...call, preferred: instance };
}
