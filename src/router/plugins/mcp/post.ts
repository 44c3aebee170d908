import type { ServerResponse } from 'node:http';
import { isObject } from '#kit/json.ts';
import { negotiateSessionRevision } from '#mcp/eras.ts';
import {
  errorCodes,
  isRequest,
  type JsonRpcMessage,
  type JsonRpcRequest,
  type JsonRpcResponse,
  RpcError,
} from '#mcp/jsonrpc.ts';
import { type ParsedBody, parseJson, readMessages } from '#mcp/parse.ts';
import { surfaceNow } from '#routing/agent-surface.ts';
import { wholeOf } from '#routing/limits.ts';
import type { McpSurface } from '#routing/surface.ts';
import { AuthRefused } from '../../auth/authenticator.ts';
import { refuse as refuseCaller } from '../../auth/refuse.ts';
import { bindingOf, type Caller } from '../../caller.ts';
import { identifyCaller, isDelegated } from '../../delegation.ts';
import { endWhenOut } from '../../end-when-out.ts';
import { RouterError } from '../../errors.ts';
import type { Exchange } from '../../front.ts';
import { answerAggregate } from '../../mcp/aggregate.ts';
import { aggregateCapabilities, aggregateInstructions } from '../../mcp/aggregate-info.ts';
import { statusOf, toFailure, writeJson, writeJsonText } from '../../mcp/answer.ts';
import { changeAnswer } from '../../mcp/answer-transform.ts';
import type { EventStreams } from '../../mcp/event-streams.ts';
import { type Expose, exposeInResult } from '../../mcp/expose-uris.ts';
import { mcpAnswers } from '../../mcp/fit-answer.ts';
import { identifySpeaker, isInitialize, type Speaker } from '../../mcp/inbound.ts';
import { type AggregateRequest, type Outcome, serverInfo } from '../../mcp/outcome.ts';
import { readAnswer } from '../../mcp/read-answer.ts';
import type { Services } from '../../services.ts';
import { collect } from '../../upstream/collect.ts';
import { relay } from '../../upstream/relay.ts';
import { checkNarrowed } from './check-narrowed.ts';
import { runCommand } from './commands.ts';
import { type InFlight, inFlightKey } from './in-flight.ts';
import { scopeOf } from './scope.ts';
import { take } from './take.ts';

export interface PostContext {
  readonly services: Services;
  readonly streams: EventStreams;
  readonly inFlight: InFlight;
  readonly surface: McpSurface;
}

type Posted = Exchange<'mcp'>;

/** POST to an aggregate: JSON-RPC of either era, a batch of the old ones, or Ploinky's plain commands. */
export function answerPost(found: PostContext, exchange: Posted, text: string): void | Promise<void> {
  const { services } = found;
  const { request } = exchange;
  const { headers } = request;
  const { jsonDepth: maxDepth, jsonMembers: maxMembers, batch: maxBatch } = services.limits;
  const json = parseJson(text, { maxDepth, maxMembers });
  const caller = identifyCaller(request, services);
  checkNarrowed(caller, found.surface, json);
  const surface = services.grants.narrow(found.surface, caller);
  const context = surface === found.surface ? found : { ...found, surface };
  if (isObject(json) && !('jsonrpc' in json)) return answerCommand(context, exchange, caller, json);
  const body = readMessages(json, { maxBatch });
  const delegated = isDelegated(request);
  const scope = scopeOf(surface);
  const speaker = identifySpeaker(services, { body, headers, scope, caller, delegated });
  return answerBody(context, exchange, { body, speaker, text });
}

async function answerCommand(
  { services, surface }: PostContext,
  { request, response }: Posted,
  caller: Caller,
  json: Record<string, unknown>,
): Promise<void> {
  try {
    const { status, body } = await runCommand(services, surface, caller, json, request.headers);
    writeJson(response, status, body);
  } catch (error) {
    if (!(error instanceof AuthRefused)) throw error;
    refuseCaller(services, request, response, surface.access, error.details);
  }
}

interface Spoken {
  readonly body: ParsedBody;
  readonly speaker: Speaker;
  readonly text: string;
}

function answerBody(context: PostContext, exchange: Posted, spoken: Spoken): void | Promise<void> {
  const { body, speaker, text } = spoken;
  const { request, response } = exchange;
  const [message] = body.messages;
  if (body.batch) return answerBatch(context, exchange, spoken);
  if (speaker.era === 'sessions' && isInitialize(message))
    return initialize(context, response, message, speaker);
  if (!isRequest(message)) return acknowledge(context, exchange, speaker, message);
  if (speaker.era === 'stateless' && message.method === 'subscriptions/listen') {
    return listen(context, exchange, message, speaker);
  }
  const { surface } = context;
  return answerRequest(context, exchange, { surface, speaker, headers: request.headers, message, text });
}

async function acknowledge(
  context: PostContext,
  { request, response }: Posted,
  speaker: Speaker,
  message: JsonRpcMessage | undefined,
): Promise<void> {
  if (message !== undefined) await take(context, { speaker, headers: request.headers }, message);
  response.writeHead(202).end();
}

/** Without a promise where nothing has to be waited for: so it is for almost every call. */
function answerRequest(
  context: PostContext,
  posted: Pick<Posted, 'request' | 'response'>,
  request: AggregateRequest,
): void | Promise<void> {
  const { response } = posted;
  try {
    const outcome = answerAggregate(context.services, request);
    if (!(outcome instanceof Promise)) return answerOutcome(context, response, request, outcome);
    return outcome
      .then((found) => answerOutcome(context, response, request, found))
      .catch((error: unknown) => refuse(context, posted, request, error));
  } catch (error) {
    refuse(context, posted, request, error);
  }
}

function answerOutcome(
  { services, inFlight }: PostContext,
  response: ServerResponse,
  { message: { id, method }, speaker }: AggregateRequest,
  outcome: Outcome,
): void {
  // Its close was told while the agent was looked for: nobody is there to be answered, or to cancel it.
  if (response.destroyed) return;
  if (outcome.kind === 'result') {
    writeJsonText(response, 200, `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${outcome.text}}`);
    return;
  }
  const inSession = speaker.era === 'sessions';
  const call = inSession ? inFlight.place(inFlightKey(speaker, id), outcome.call, response) : outcome.call;
  const asks = inSession ? { keys: services.keys, session: call.mcp?.session ?? '' } : undefined;
  relay(services, call, response, {
    ...mcpAnswers,
    fail: (error) => writeJson(response, 200, toFailure(id, error)),
    transform: changeAnswer({
      ...{ id, method, agent: outcome.agent, asks, expose: outcome.expose },
      renameTask: outcome.renameTask,
      maxBytes: services.limits.answerBytes,
      maxDepth: services.limits.answerDepth,
      maxEventChars: services.limits.eventChars,
    }),
  });
}

function refuse(
  { services }: PostContext,
  { request, response }: Pick<Posted, 'request' | 'response'>,
  { surface, message: { id, method }, speaker }: AggregateRequest,
  error: unknown,
): void {
  if (error instanceof AuthRefused) {
    refuseCaller(services, request, response, surface.access, error.details);
    return;
  }
  if (!(error instanceof RpcError || error instanceof RouterError)) {
    services.log.error('an MCP request failed', { method, error });
  }
  writeJson(response, speaker.era === 'stateless' ? handlerStatus(error) : 200, toFailure(id, error));
}

/** Of what a client of 2026-07-28 is told with a status of its own, though a handler says it. */
function handlerStatus(error: unknown): number {
  if (!(error instanceof RpcError)) return 200;
  if (error.code === errorCodes.missingCapability) return 400;
  return statusOf(error) === 404 ? 404 : 200;
}

async function initialize(
  { services, surface }: PostContext,
  response: ServerResponse,
  message: JsonRpcRequest,
  speaker: Speaker,
): Promise<void> {
  const about = await services.abouts.of(surface);
  const params = message.params ?? {};
  const revision = negotiateSessionRevision(params['protocolVersion']);
  const client = isObject(params['clientInfo']) ? params['clientInfo'] : {};
  const id = services.sessions.seal({
    key: services.sessions.newKey(),
    scope: scopeOf(surface),
    user: bindingOf(speaker.caller),
    revision,
    capabilities: isObject(params['capabilities']) ? params['capabilities'] : {},
    client: { name: String(client['name'] ?? ''), version: String(client['version'] ?? '') },
  });
  const result = {
    protocolVersion: revision,
    capabilities: aggregateCapabilities(about, revision),
    serverInfo: serverInfo(services),
    instructions: aggregateInstructions(surface, about, services.limits.mergedInstructionsChars),
  };
  const headers = { 'mcp-session-id': id, 'mcp-protocol-version': revision };
  writeJson(response, 200, { jsonrpc: '2.0', id: message.id, result }, headers);
}

async function listen(
  context: PostContext,
  { request, response }: Posted,
  message: JsonRpcRequest,
  speaker: Speaker,
): Promise<void> {
  try {
    const { headers } = request;
    await context.streams.listen(
      currentSurface(context, speaker.caller),
      { message, speaker, headers },
      response,
    );
    endWhenOut(context.services, request, response, () => context.streams.end(response));
  } catch (error) {
    context.services.log.debug('a stream was refused', { error });
    writeJson(response, handlerStatus(error), toFailure(message.id, error));
  }
}

/** The surface as the newest table has it, for the caller; a stream outlives tables. */
export function currentSurface(
  { services, surface }: Pick<PostContext, 'services' | 'surface'>,
  caller: Caller,
): () => McpSurface {
  const { tables, grants } = services;
  return () => {
    const now = surfaceNow(tables.current(), surface);
    return now === undefined ? { ...wholeOf(surface), agents: [] } : grants.narrow(now, caller);
  };
}

async function answerBatch(
  context: PostContext,
  { request: { headers }, response }: Posted,
  { body, speaker }: Spoken,
): Promise<void> {
  const { services, surface } = context;
  const answers = await Promise.all(
    body.messages.map(async (message) => {
      if (isRequest(message))
        return answerCollected(services, { surface, speaker, headers, message, text: undefined });
      await take(context, { speaker, headers }, message);
      return undefined;
    }),
  );
  const present = answers.filter((answer) => answer !== undefined);
  if (present.length === 0) response.writeHead(202).end();
  else writeJson(response, 200, present);
}

async function answerCollected(services: Services, request: AggregateRequest): Promise<JsonRpcResponse> {
  const { id } = request.message;
  try {
    const outcome = await answerAggregate(services, request);
    if (outcome.kind === 'result') return { jsonrpc: '2.0', id, result: JSON.parse(outcome.text) };
    const { answerBytes: maxBytes, answerDepth: maxDepth } = services.limits;
    // One of a batch has no stream of its own to be asked on, or to come back to.
    const headers = { ...outcome.call.headers, accept: 'application/json' };
    const collected = await collect(services.sender, { ...outcome.call, headers }, { maxBytes });
    const answer = readAnswer(collected, id, { agent: outcome.agent, maxDepth });
    if (answer !== undefined) return exposed(answer, request.message.method, outcome.expose);
    throw new RouterError('AgentAnswer', `Agent '${outcome.agent}' sent no JSON-RPC answer`);
  } catch (error) {
    return toFailure(id, error);
  }
}

function exposed(answer: JsonRpcResponse, method: string, expose: Expose | undefined): JsonRpcResponse {
  if (expose === undefined || !('result' in answer)) return answer;
  return { ...answer, result: exposeInResult(method, answer.result, expose) };
}
