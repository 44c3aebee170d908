import type { FastifyReply, FastifyRequest } from 'fastify';
import { isObject } from '#kit/json.ts';
import { negotiateSessionRevision } from '#mcp/eras.ts';
import {
  isNotification,
  isRequest,
  isResponse,
  type JsonRpcMessage,
  type JsonRpcRequest,
  type JsonRpcResponse,
  RpcError,
} from '#mcp/jsonrpc.ts';
import { type ParsedBody, parseJson, readMessages } from '#mcp/parse.ts';
import type { McpSurface } from '#routing/surface.ts';
import { identifyCaller } from '../../delegation.ts';
import { RouterError } from '../../errors.ts';
import { callWith } from '../../mcp/agent-call.ts';
import { aggregateCapabilities, aggregateInstructions, answerAggregate } from '../../mcp/aggregate.ts';
import { statusOf, toFailure, writeJson, writeJsonText } from '../../mcp/answer.ts';
import type { EventStreams } from '../../mcp/event-streams.ts';
import { identifySpeaker, isInitialize, type Speaker } from '../../mcp/inbound.ts';
import { type AggregateRequest, serverInfo } from '../../mcp/outcome.ts';
import { readAnswer } from '../../mcp/read-answer.ts';
import { readRequestId, renameServerRequests } from '../../mcp/server-requests.ts';
import type { Services } from '../../services.ts';
import { collect } from '../../upstream/collect.ts';
import { answerHeaders } from '../../upstream/headers.ts';
import { relay } from '../../upstream/relay.ts';
import { runCommand } from './commands.ts';
import { type InFlight, inFlightKey } from './in-flight.ts';
import { scopeOf } from './scope.ts';

export interface PostContext {
  readonly services: Services;
  readonly streams: EventStreams;
  readonly inFlight: InFlight;
  readonly surface: McpSurface;
}

/** POST to an aggregate: JSON-RPC of either era, a batch of the old ones, or Ploinky's plain commands. */
export async function answerPost(
  context: PostContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { services, surface } = context;
  const text = String(request.body ?? '');
  const json = parseJson(text, services.limits.jsonDepth);
  const caller = identifyCaller(request.raw, services);
  if (isObject(json) && !('jsonrpc' in json)) {
    const { status, body } = await runCommand(services, surface, caller, json, request.headers);
    writeJson(reply.raw, status, body);
    return;
  }
  const body = readMessages(json, { maxDepth: services.limits.jsonDepth, maxBatch: services.limits.batch });
  const delegated = request.headers['x-ploinky-caller-jwt'] !== undefined;
  const speaker = identifySpeaker(services, {
    body,
    headers: request.headers,
    scope: scopeOf(surface),
    caller,
    delegated,
  });
  await answerBody(context, request, reply, { body, speaker, text });
}

interface Spoken {
  readonly body: ParsedBody;
  readonly speaker: Speaker;
  readonly text: string;
}

async function answerBody(
  context: PostContext,
  request: FastifyRequest,
  reply: FastifyReply,
  spoken: Spoken,
): Promise<void> {
  const { body, speaker, text } = spoken;
  const [message] = body.messages;
  if (body.batch) return answerBatch(context, request, reply, spoken);
  if (speaker.era === 'sessions' && isInitialize(message))
    return initialize(context, reply, message, speaker);
  if (isRequest(message)) {
    if (speaker.era === 'stateless' && message.method === 'subscriptions/listen') {
      return listen(context, request, reply, message);
    }
    return answerRequest(context, reply, { ...aggregateRequest(context, request, speaker, message), text });
  }
  if (message !== undefined) await take(context, request, speaker, message);
  reply.raw.writeHead(202).end();
}

function aggregateRequest(
  context: PostContext,
  request: FastifyRequest,
  speaker: Speaker,
  message: JsonRpcRequest,
): AggregateRequest {
  return { surface: context.surface, speaker, headers: request.headers, message, text: undefined };
}

async function answerRequest(
  { services, inFlight }: PostContext,
  reply: FastifyReply,
  request: AggregateRequest,
): Promise<void> {
  const { id, method } = request.message;
  const { speaker } = request;
  try {
    const outcome = await answerAggregate(services, request);
    if (outcome.kind === 'result') {
      writeJsonText(reply.raw, 200, `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${outcome.text}}`);
      return;
    }
    const forget =
      speaker.era === 'sessions' ? inFlight.add(inFlightKey(speaker, id), outcome.agent) : undefined;
    if (forget !== undefined) reply.raw.once('close', forget);
    relay(services.sender, outcome.call, reply.raw, {
      headers: answerHeaders,
      fail: (error) => writeJson(reply.raw, 200, toFailure(id, error)),
      ...(speaker.era === 'sessions' && { transform: renameServerRequests(outcome.agent) }),
    });
  } catch (error) {
    if (!(error instanceof RpcError || error instanceof RouterError)) {
      services.log.error('an MCP request failed', { method, error });
    }
    const unknown = error instanceof RpcError && speaker.era === 'stateless' && statusOf(error) === 404;
    writeJson(reply.raw, unknown ? 404 : 200, toFailure(id, error));
  }
}

function initialize(
  { services, surface }: PostContext,
  reply: FastifyReply,
  message: JsonRpcRequest,
  speaker: Speaker,
): void {
  const params = message.params ?? {};
  const revision = negotiateSessionRevision(params['protocolVersion']);
  const client = isObject(params['clientInfo']) ? params['clientInfo'] : {};
  const id = services.sessions.seal({
    key: services.sessions.newKey(),
    scope: scopeOf(surface),
    user: speaker.caller.user?.id ?? '',
    revision,
    capabilities: isObject(params['capabilities']) ? params['capabilities'] : {},
    client: { name: String(client['name'] ?? ''), version: String(client['version'] ?? '') },
  });
  const result = {
    protocolVersion: revision,
    capabilities: aggregateCapabilities,
    serverInfo: serverInfo(services),
    instructions: aggregateInstructions(surface),
  };
  const headers = { 'mcp-session-id': id, 'mcp-protocol-version': revision };
  writeJson(reply.raw, 200, { jsonrpc: '2.0', id: message.id, result }, headers);
}

function listen(
  context: PostContext,
  request: FastifyRequest,
  reply: FastifyReply,
  message: JsonRpcRequest,
): void {
  try {
    context.streams.listen(currentSurface(context), message, reply.raw);
  } catch (error) {
    request.log.debug(error);
    writeJson(reply.raw, 200, toFailure(message.id, error));
  }
}

/** The surface as the newest table has it; a stream outlives tables. */
export function currentSurface({ services, surface }: PostContext): () => McpSurface {
  const { host, path } = surface.place;
  return () => {
    const now = services.tables
      .current()
      .surfaces.find(
        (other) =>
          other.kind === 'mcp' &&
          other.source === surface.source &&
          other.place.host === host &&
          other.place.path === path,
      );
    return now?.kind === 'mcp' ? now : { ...surface, agents: [] };
  };
}

/** Messages that nobody waits for. What they concern may be gone: that is no error. */
async function take(
  context: PostContext,
  request: FastifyRequest,
  speaker: Speaker,
  message: JsonRpcMessage,
): Promise<void> {
  const { services, surface, inFlight } = context;
  const headers = request.headers;
  const maxBytes = services.limits.answerBytes;
  if (isResponse(message)) {
    const asked = readRequestId(message.id);
    if (asked === undefined || !surface.agents.includes(asked.agent)) return;
    const call = callWith(
      `${surface.namespace}/${asked.agent}`,
      { ...message, id: asked.id },
      { speaker, headers },
    );
    await collect(services.sender, call, { maxBytes }).catch(() => undefined);
  } else if (
    isNotification(message) &&
    message.method === 'notifications/cancelled' &&
    speaker.era === 'sessions'
  ) {
    const agent = inFlight.agentOf(inFlightKey(speaker, message.params?.['requestId']));
    const told = agent === undefined ? agentsThatMayRunIt(context) : [agent];
    await Promise.all(
      told.map((name) => {
        const call = callWith(`${surface.namespace}/${name}`, message, { speaker, headers });
        return collect(services.sender, { ...call, readyWaitMs: 0 }, { maxBytes }).catch(() => undefined);
      }),
    );
  }
}

/** Another router may have sent the request on: whoever does not run it for this session takes no notice. */
function agentsThatMayRunIt({ services, surface }: PostContext): readonly string[] {
  const { targets } = services.tables.current();
  return surface.agents.filter(
    (name) => targets.get(`${surface.namespace}/${name}`)?.unavailable === undefined,
  );
}

async function answerBatch(
  context: PostContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { body, speaker }: Spoken,
): Promise<void> {
  const answers = await Promise.all(
    body.messages.map(async (message) => {
      if (isRequest(message))
        return answerCollected(context.services, aggregateRequest(context, request, speaker, message));
      await take(context, request, speaker, message);
      return undefined;
    }),
  );
  const present = answers.filter((answer) => answer !== undefined);
  if (present.length === 0) reply.raw.writeHead(202).end();
  else writeJson(reply.raw, 200, present);
}

async function answerCollected(services: Services, request: AggregateRequest): Promise<JsonRpcResponse> {
  const { id } = request.message;
  try {
    const outcome = await answerAggregate(services, request);
    if (outcome.kind === 'result') return { jsonrpc: '2.0', id, result: JSON.parse(outcome.text) };
    const answer = readAnswer(
      await collect(services.sender, outcome.call, { maxBytes: services.limits.answerBytes }),
      id,
    );
    if (answer !== undefined) return answer;
    throw new RouterError('AgentAnswer', `Agent '${outcome.agent}' sent no JSON-RPC answer`);
  } catch (error) {
    return toFailure(id, error);
  }
}
