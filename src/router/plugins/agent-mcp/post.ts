import type { IncomingMessage, ServerResponse } from 'node:http';
import { isObject } from '#kit/json.ts';
import { negotiateSessionRevision } from '#mcp/eras.ts';
import {
  errorCodes,
  isNotification,
  isRequest,
  type JsonRpcMessage,
  type JsonRpcRequest,
  RpcError,
} from '#mcp/jsonrpc.ts';
import { parseJson, readMessages } from '#mcp/parse.ts';
import type { Target } from '#routing/target.ts';
import { bindingOf, type Caller } from '../../caller.ts';
import { identifyCaller, isDelegated } from '../../delegation.ts';
import { endWhenOut } from '../../end-when-out.ts';
import type { Exchange } from '../../front.ts';
import { callWith } from '../../mcp/agent-call.ts';
import { toFailure, writeJson, writeJsonText } from '../../mcp/answer.ts';
import { mcpAnswers } from '../../mcp/fit-answer.ts';
import { identifySpeaker, isInitialize, type Speaker } from '../../mcp/inbound.ts';
import { readAnswer } from '../../mcp/read-answer.ts';
import { checkTool } from '../../narrowing.ts';
import type { Services } from '../../services.ts';
import { collect } from '../../upstream/collect.ts';
import { mcpRequestHeaders } from '../../upstream/headers.ts';
import { relay } from '../../upstream/relay.ts';
import type { AgentCall } from '../../upstream/send.ts';
import { type InFlight, inFlightKey, toRunning } from '../mcp/in-flight.ts';

/** POST to one agent: everything passes through as it is, in either era. */
export function answerAgentPost(
  { services, inFlight }: { readonly services: Services; readonly inFlight: InFlight },
  { request, response, resolution: { target } }: Exchange<'agent-mcp'>,
  text: string,
): void | Promise<void> {
  const { jsonDepth: maxDepth, jsonMembers: maxMembers } = services.limits;
  const json = parseJson(text, { maxDepth, maxMembers });
  if (!Array.isArray(json) && !(isObject(json) && 'jsonrpc' in json)) {
    writeJson(response, 400, { error: 'unsupported request for agent MCP proxy' });
    return;
  }
  const body = readMessages(json, { maxBatch: 1 });
  const [message] = body.messages;
  if (message === undefined) return;
  const delegated = isDelegated(request);
  if (delegated && !(isRequest(message) && message.method === 'tools/call')) {
    throw new RpcError(
      errorCodes.invalidRequest,
      'Delegated agent calls must use a direct tools/call request.',
    );
  }
  const caller = identifyCaller(request, services);
  if (isRequest(message) && message.method === 'tools/call')
    checkTool(caller, String(message.params?.['name']));
  const scope = target.identity.uid;
  const speaker = identifySpeaker(services, { body, headers: request.headers, scope, caller, delegated });
  const agent = keyOf(target);
  if (speaker.era === 'sessions' && isInitialize(message)) {
    return initialize(services, { target, caller, message, request, response });
  }
  if (isRequest(message) && message.method === 'subscriptions/listen')
    endWhenOut(services, request, response);
  const id = isRequest(message) ? message.id : null;
  const sent = body.batch ? undefined : text;
  const call = callWith(agent, message, { speaker, headers: request.headers, text: sent });
  relay(services, placed(inFlight, { speaker, message, call }, response), response, {
    ...mcpAnswers,
    fail: (error) => writeJson(response, id === null ? 503 : 200, toFailure(id, error)),
  });
}

interface Spoken {
  readonly speaker: Speaker;
  readonly message: JsonRpcMessage;
  readonly call: AgentCall;
}

/** What cancels a request goes to the instance that runs it. */
function placed(inFlight: InFlight, { speaker, message, call }: Spoken, response: ServerResponse): AgentCall {
  if (speaker.era !== 'sessions' || speaker.session === undefined) return call;
  if (isRequest(message)) return inFlight.place(inFlightKey(speaker, message.id), call, response);
  if (!isNotification(message) || message.method !== 'notifications/cancelled') return call;
  return toRunning(call, inFlight.find(inFlightKey(speaker, message.params?.['requestId'])));
}

export function keyOf(target: Target): string {
  return `${target.namespace}/${target.name}`;
}

interface Initializing {
  readonly target: Target;
  readonly caller: Caller;
  readonly message: JsonRpcRequest;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * The agent answers for itself; the session id is the router's, sealed after the agent has said which
 * revision it settled on, since it says so to every router that ever sees it.
 */
async function initialize(
  services: Services,
  { target, caller, message, request, response: reply }: Initializing,
): Promise<void> {
  const params = message.params ?? {};
  const capabilities = isObject(params['capabilities']) ? params['capabilities'] : {};
  const info = isObject(params['clientInfo']) ? params['clientInfo'] : {};
  const client = { name: String(info['name'] ?? ''), version: String(info['version'] ?? '') };
  const key = services.sessions.newKey();
  const asked = negotiateSessionRevision(params['protocolVersion']);
  const seal = (revision: string) =>
    services.sessions.seal({
      key,
      scope: target.identity.uid,
      user: bindingOf(caller),
      revision,
      capabilities,
      client,
    });
  const session = services.sessions.open(seal(asked), target.identity.uid, caller);
  if (session === undefined) throw new Error('a session that was just sealed does not open');
  const speaker = { era: 'sessions', session, caller } as const;
  try {
    const call = callWith(keyOf(target), message, { speaker, headers: request.headers });
    const headers = { ...mcpRequestHeaders(request.headers), 'content-type': 'application/json' };
    const answer = await collect(
      services.sender,
      { ...call, headers },
      { maxBytes: services.limits.answerBytes },
    );
    const response = readAnswer(answer, message.id, {
      agent: target.name,
      maxDepth: services.limits.answerDepth,
    });
    if (response === undefined || !('result' in response)) {
      writeJsonText(reply, answer.status, response === undefined ? answer.text : JSON.stringify(response));
      return;
    }
    const revision = String(response.result['protocolVersion'] ?? asked);
    writeJson(reply, 200, response, {
      'mcp-session-id': seal(revision),
      'mcp-protocol-version': revision,
    });
  } catch (error) {
    writeJson(reply, 200, toFailure(message.id, error));
  }
}
