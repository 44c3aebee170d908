import type { IncomingHttpHeaders } from 'node:http';
import { isObject } from '#kit/json.ts';
import { splitParkState } from '#mcp/bridge/park-state.ts';
import { encodeHeaderValue, nameHeaderOf } from '#mcp/headers.ts';
import { isRequest, type JsonRpcMessage, type JsonRpcRequest, type Params } from '#mcp/jsonrpc.ts';
import { slotOfTask, splitTaskId } from '#mcp/tasks/ids.ts';
import { bindMessage, streamBinding } from '#wire/binding.ts';
import { slotNamedIn } from '#wire/blobs.ts';
import type { Caller } from '../caller.ts';
import type { Lane } from '../upstream/agent-pool.ts';
import { mcpRequestHeaders } from '../upstream/headers.ts';
import type { AgentCall } from '../upstream/send.ts';
import { type Speaker, wireContext } from './inbound.ts';
import { contextOf, type Session } from './sessions.ts';

/** A POST of one message to an agent. `text` saves serialising a message that goes on as it came. */
export function callWith(
  agent: string,
  message: JsonRpcMessage,
  options: {
    readonly speaker: Speaker;
    readonly headers: IncomingHttpHeaders;
    readonly text?: string | undefined;
  },
): AgentCall {
  const { speaker, text } = options;
  const body = text ?? JSON.stringify(message);
  const name = agent.slice(agent.indexOf('/') + 1);
  const slotIfThere =
    'method' in message && namesFiles.has(message.method) ? slotNamedIn(body, name) : undefined;
  return {
    agent,
    ...('method' in message ? goesOnAt(message.params) : placed(splitParkState(message.id)?.instance)),
    method: 'POST',
    path: '/mcp',
    headers: { ...mcpRequestHeaders(options.headers), 'content-type': 'application/json' },
    body,
    ...(slotIfThere !== undefined && { slotIfThere }),
    binding: bindMessage(message),
    caller: speaker.caller,
    mcp: wireContext(speaker),
    lane: laneOf(message),
  };
}

/** A file that these name is at one replica. */
const namesFiles = new Set(['tools/call', 'resources/read']);

/** What ends a task, or gives it what it waits for, must not wait for it. */
const forTasks = new Set(['tasks/cancel', 'tasks/update']);

function laneOf(message: JsonRpcMessage): Lane {
  if (!isRequest(message) || forTasks.has(message.method)) return 'messages';
  return message.method === 'subscriptions/listen' ? 'streams' : 'calls';
}

/**
 * GET of a session's own stream at an agent, from now on; or of one that was lost, after the event with this id of the
 * agent's, at the instance that it names.
 */
export function sessionStreamCall(
  agent: string,
  session: Session,
  caller: Caller,
  headers: IncomingHttpHeaders,
  lastEventId?: string,
): AgentCall {
  const { 'last-event-id': _other, ...passed } = mcpRequestHeaders(headers);
  const mcp = contextOf(session);
  const call = { agent, method: 'GET', path: '/mcp', headers: passed, binding: streamBinding, caller, mcp };
  return afterEvent({ ...call, lane: 'streams' }, lastEventId);
}

/** The same GET of a stream, after the event with this id of the agent's. */
export function afterEvent(call: AgentCall, lastEventId: string | undefined): AgentCall {
  if (lastEventId === undefined) return call;
  const preferred = splitParkState(lastEventId)?.instance;
  const headers = { ...call.headers, 'last-event-id': lastEventId };
  return { ...call, headers, ...(preferred !== undefined && { preferred }) };
}

/** The message with other params, and the headers that mirror them. */
export function withParams(
  message: JsonRpcRequest,
  params: Params,
  headers: IncomingHttpHeaders,
): { message: JsonRpcRequest; headers: IncomingHttpHeaders } {
  const changed = { ...message, params };
  const name = nameHeaderOf(changed);
  const mirrored = headers['mcp-name'] !== undefined && name !== undefined;
  return {
    message: changed,
    headers: mirrored ? { ...headers, 'mcp-name': encodeHeaderValue(name) } : headers,
  };
}

type Place = Pick<AgentCall, 'preferred' | 'preferredSlot'>;

function placed(preferred: string | undefined): Place {
  return preferred === undefined ? {} : { preferred };
}

function goesOnAt(params: Params | undefined): Place {
  const parked = parkedAt(params);
  return parked === undefined ? taskAt(params) : placed(parked);
}

/** The instance where the task runs that a request is about, or listens to first. */
function taskAt(params: Params | undefined): Place {
  const filter = params?.['notifications'];
  const listened = isObject(filter) && Array.isArray(filter['taskIds']) ? filter['taskIds'][0] : undefined;
  const id = params?.['taskId'] ?? listened;
  const name = id === undefined ? undefined : splitTaskId(id);
  if (name === undefined) return {};
  const preferredSlot = slotOfTask(name);
  return { preferred: name.instance, ...(preferredSlot !== undefined && { preferredSlot }) };
}

/** The instance where the call of a retry waits for its answers. */
function parkedAt(params: Params | undefined): string | undefined {
  const state = params?.['requestState'];
  return state === undefined ? undefined : splitParkState(state)?.instance;
}
