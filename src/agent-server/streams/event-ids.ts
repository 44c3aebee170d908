import { timingSafeEqual } from 'node:crypto';
import { isObject } from '#kit/json.ts';
import { joinParkState, splitParkState } from '#mcp/bridge/park-state.ts';
import { isRequestId, type RequestId } from '#mcp/jsonrpc.ts';
import { hmacText } from '#wire/hmac.ts';
import { deriveSubkey, type WireKey } from '#wire/keys.ts';

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
 * Ids of events: the instance that holds a call's stream, in the clear so that any router finds it, a full stop, and the
 * position with its seal for the agent, the instance and the session: nobody else's session can use it. What it says
 * is the client's own and no secret, so it is not encrypted: that would cost every event five times as much.
 */
export interface EventIds {
  make(session: string, position: Position): string;
  /** Undefined for what was not made by this agent for this session. */
  read(session: string, id: string): Position | undefined;
}

const longestRequestId = 64;
/** A session's own stream goes on where the session is now: what it will hear of is there. */
const wherever = '-';
/** Characters of base64url, of 6 bits each. */
const sealLength = 22;

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
  const sealOf = (key: WireKey, instance: string, session: string, text: string) =>
    hmacText(key, JSON.stringify([options.agent, instance, session, text])).slice(0, sealLength);
  return {
    make(session, position) {
      const [key] = keys();
      if (key === undefined) throw new Error('the agent has no key');
      const text = encode(position);
      const instance = position.own ? wherever : options.instance;
      return joinParkState(instance, text + sealOf(key, instance, session, text));
    },
    read(session, id) {
      const { instance, sealed = '' } = splitParkState(id) ?? {};
      if (instance === undefined || sealed.length <= sealLength) return undefined;
      const text = sealed.slice(0, -sealLength);
      const seal = Buffer.from(sealed.slice(-sealLength));
      const isGenuine = keys().some((key) =>
        timingSafeEqual(Buffer.from(sealOf(key, instance, session, text)), seal),
      );
      return isGenuine ? decode(text) : undefined;
    },
  };
}

function encode({ stream, cursor, request, own }: Position): string {
  const named = request !== undefined && JSON.stringify(request).length <= longestRequestId;
  const payload = { s: stream, c: cursor, ...(own && { o: 1 }), ...(named && { r: request }) };
  return Buffer.from(JSON.stringify(payload)).toString('base64url');
}

function decode(text: string): Position | undefined {
  const payload: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
  if (!isObject(payload)) return undefined;
  const { s, c, o, r } = payload;
  if (typeof s !== 'string' || typeof c !== 'number') return undefined;
  return { stream: s, cursor: c, own: o === 1, request: isRequestId(r) ? r : undefined };
}
