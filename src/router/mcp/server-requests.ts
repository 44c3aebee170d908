import { timingSafeEqual } from 'node:crypto';
import { isObject } from '#kit/json.ts';
import { isRequest, isRequestId, type RequestId } from '#mcp/jsonrpc.ts';
import { hmacText } from '#wire/hmac.ts';
import { deriveSubkey, type WireKey } from '#wire/keys.ts';
import type { RouterKeys } from '../keys.ts';

/** Who is asked: the client of one session. */
export interface Asked {
  readonly keys: Pick<RouterKeys, 'sessionSeal'>;
  /** Key of the session. */
  readonly session: string;
}

/** Characters of base64url, of 6 bits each. */
const sealLength = 22;

/**
 * Behind an aggregate several agents ask one client, each giving its requests ids by itself. The id that the client
 * sees names the agent, so that any router knows where the answer goes; agent names have no "/". Its seal says that a
 * router made it, for this session: no agent can write one that leads to another agent's question.
 */
export function exposeRequestId({ keys, session }: Asked, agent: string, id: RequestId): string {
  const [key] = keys.sessionSeal;
  if (key === undefined) throw new Error('the router has no key');
  const own = JSON.stringify(id);
  return `${agent}/${sealOf(key, session, agent, own)}/${own}`;
}

/** The agent and its own id, or undefined when the id was not made by a router for this session. */
export function readRequestId(
  { keys, session }: Asked,
  id: unknown,
): { readonly agent: string; readonly id: RequestId } | undefined {
  if (typeof id !== 'string') return undefined;
  const [, agent, given, text] = /^([^/]+)\/([\w-]{22})\/(.+)$/s.exec(id) ?? [];
  if (agent === undefined || given === undefined || text === undefined) return undefined;
  const isGenuine = keys.sessionSeal.some((key) =>
    timingSafeEqual(Buffer.from(sealOf(key, session, agent, text)), Buffer.from(given)),
  );
  if (!isGenuine) return undefined;
  const own: unknown = JSON.parse(text);
  return isRequestId(own) ? { agent, id: own } : undefined;
}

function sealOf(key: WireKey, session: string, agent: string, id: string): string {
  const sealing = deriveSubkey(key, 'request-ids');
  return hmacText(sealing, JSON.stringify([session, agent, id])).slice(0, sealLength);
}

/** An agent's message with the id that clients see, when it asks something or takes that back; else the same. */
export function renameServerRequest(
  asked: Asked,
  agent: string,
  message: Record<string, unknown>,
): Record<string, unknown> {
  if (isRequest(message)) return { ...message, id: exposeRequestId(asked, agent, message.id) };
  return message['method'] === 'notifications/cancelled' ? renameCancelled(asked, agent, message) : message;
}

function renameCancelled(
  asked: Asked,
  agent: string,
  message: Record<string, unknown>,
): Record<string, unknown> {
  const params = isObject(message['params']) ? message['params'] : {};
  const id = params['requestId'];
  return isRequestId(id)
    ? { ...message, params: { ...params, requestId: exposeRequestId(asked, agent, id) } }
    : message;
}
