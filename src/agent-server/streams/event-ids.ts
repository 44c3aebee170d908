import { joinParkState, splitParkState } from '#mcp/bridge/park-state.ts';
import { isRequestId, type RequestId } from '#mcp/jsonrpc.ts';
import { deriveSubkey, type WireKey } from '#wire/keys.ts';
import { seal, unseal } from '#wire/seal.ts';

/** Which event of which stream a client saw last. */
export interface Position {
  /** Name of the stream, never given twice. */
  readonly stream: string;
  /** Events up to this one were seen. */
  readonly cursor: number;
  /** Request that the stream answers; undefined for the session's own stream, and for ids over 64 characters. */
  readonly request: RequestId | undefined;
  /** The session's own stream. */
  readonly own: boolean;
}

/**
 * Ids of events: the instance that holds the stream, in the clear so that any router finds it, a full stop, and the
 * position, sealed for the agent, the instance and the session: nobody else's session can use it.
 */
export interface EventIds {
  make(session: string, position: Position): string;
  /** Undefined for what was not made by this agent for this session. */
  read(session: string, id: string): Position | undefined;
}

const longestRequestId = 64;

export function createEventIds(options: {
  /** Principal of the agent and uid of this instance. */
  readonly agent: string;
  readonly instance: string;
  /** The agent's keys, the current one first; another array when they change. */
  readonly keys: () => readonly WireKey[];
}): EventIds {
  let from: readonly WireKey[] = [];
  let sealing: readonly WireKey[] = [];
  const keys = () => {
    const now = options.keys();
    if (now !== from) {
      from = now;
      sealing = now.map((key) => deriveSubkey(key, 'event-ids'));
    }
    return sealing;
  };
  const purpose = (instance: string, session: string) => `event ${options.agent} ${instance} ${session}`;
  return {
    make(session, { stream, cursor, request, own }) {
      const named = request !== undefined && JSON.stringify(request).length <= longestRequestId;
      const payload = { s: stream, c: cursor, ...(own && { o: 1 }), ...(named && { r: request }) };
      return joinParkState(options.instance, seal(keys(), purpose(options.instance, session), payload));
    },
    read(session, id) {
      const parts = splitParkState(id);
      if (parts === undefined) return undefined;
      const payload = unseal(keys(), purpose(parts.instance, session), parts.sealed);
      if (payload === undefined) return undefined;
      const { s, c, o, r } = payload;
      if (typeof s !== 'string' || typeof c !== 'number') return undefined;
      return { stream: s, cursor: c, own: o === 1, request: isRequestId(r) ? r : undefined };
    },
  };
}
