import type { IncomingMessage, ServerResponse } from 'node:http';
import { isObject } from '#kit/json.ts';
import { joinParkState } from '#mcp/bridge/park-state.ts';
import { eraOf, metaKeys } from '#mcp/eras.ts';
import { failureOf, isRequest, notificationOf, resultOf } from '#mcp/jsonrpc.ts';
import { wrapResult } from '#mcp/results.ts';
import { encodeMessage, sseHeaders } from '#mcp/sse.ts';
import type { InvocationClaims } from '#wire/claims.ts';
import { type AgentState, type OpenStream, paramsOf, send } from './fake-state.ts';

const info = { name: 'fake-agent', version: '1' };
const capabilities = { tools: {}, resources: {}, prompts: {}, completions: {}, logging: {} };
const question = { message: 'really?', requestedSchema: { type: 'object', properties: {} } };

/** POST, GET and DELETE of /mcp at the fake agent. */
export function answerMcp(
  state: AgentState,
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
  claims: InvocationClaims,
): void {
  if (request.method === 'DELETE') {
    response.writeHead(200).end();
    return;
  }
  if (request.method === 'GET') {
    keepStream(state, { response, session: claims.mcp?.session });
    response.write(
      encodeMessage(notificationOf('notifications/message', { level: 'info', data: claims.mcp?.session })),
    );
    return;
  }
  const message: Record<string, unknown> = JSON.parse(body);
  if (state.options.hang?.includes(String(message['method']))) return;
  if (!isRequest(message)) {
    response.writeHead(202).end();
    return;
  }
  const era = eraOf(claims.mcp?.revision ?? '');
  const params = paramsOf({ ...message });
  if (message.method === 'tools/call' && isStreamed(params['name'])) {
    streamCall(state, response, { id: message.id, params, claims });
    return;
  }
  if (message.method === 'subscriptions/listen') {
    keepStream(state, { response, session: undefined, id: message.id });
    const granted = { notifications: params['notifications'], ...stampOf(message.id) };
    response.write(encodeMessage(notificationOf('notifications/subscriptions/acknowledged', granted)));
    return;
  }
  const result = resultFor(state, message.method, params, claims);
  if (result === undefined) {
    send(
      response,
      era === 'stateless' ? 404 : 200,
      failureOf(message.id, -32601, `Method not found: ${message.method}`),
    );
    return;
  }
  if ('rpcError' in result) {
    send(response, 200, failureOf(message.id, -32602, String(result['rpcError'])));
    return;
  }
  send(response, 200, resultOf(message.id, wrapResult(era, message.method, result, info)));
}

function keepStream(state: AgentState, stream: OpenStream): void {
  stream.response.writeHead(200, sseHeaders);
  state.streams.add(stream);
  stream.response.once('close', () => state.streams.delete(stream));
}

function stampOf(id: string | number): Record<string, unknown> {
  return { _meta: { [metaKeys.subscriptionId]: id } };
}

/** What a notification of the agent is to everyone who has a stream open. */
export function tell(state: AgentState, method: string, params: Record<string, unknown>): void {
  for (const { response, id } of state.streams) {
    const stamp = id === undefined ? {} : stampOf(id);
    response.write(encodeMessage(notificationOf(method, { ...params, ...stamp })));
  }
}

const toolDefaults = [
  { name: 'echo', description: 'Says what it is told', inputSchema: { type: 'object' } },
  { name: 'whoami', inputSchema: { type: 'object' } },
  { name: 'count', inputSchema: { type: 'object' } },
];

function resultFor(
  state: AgentState,
  method: string,
  params: Record<string, unknown>,
  claims: InvocationClaims,
): Record<string, unknown> | undefined {
  const { tools = toolDefaults, resources = [], templates = [], prompts = [] } = state.options;
  switch (method) {
    case 'initialize':
      return { protocolVersion: claims.mcp?.revision, capabilities, serverInfo: info };
    case 'ping':
    case 'logging/setLevel':
      return {};
    case 'server/discover':
      return {
        supportedVersions: ['2026-07-28'],
        capabilities: { ...capabilities, ...state.options.capabilities },
        ...(state.options.instructions !== undefined && { instructions: state.options.instructions }),
      };
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return tellsChanges(state) ? {} : undefined;
    case 'tools/list':
      return pageOf(tools, params['cursor']);
    case 'resources/list':
      return { resources };
    case 'resources/templates/list':
      return { resourceTemplates: templates };
    case 'prompts/list':
      return { prompts };
    case 'resources/read':
      return { contents: [{ uri: params['uri'], text: `${state.options.name} reads ${params['uri']}` }] };
    case 'prompts/get':
      return {
        messages: [
          { role: 'user', content: { type: 'text', text: `${state.options.name} ${params['name']}` } },
        ],
      };
    case 'completion/complete':
      return { completion: { values: [state.options.name] } };
    case 'tools/call':
      return callTool(state, params, claims);
    case 'tasks/get':
    case 'tasks/result':
    case 'tasks/update':
    case 'tasks/cancel':
      return aboutTask(state, method, params['taskId']);
    default:
      return undefined;
  }
}

function tellsChanges({ options }: AgentState): boolean {
  const declared = options.capabilities?.['resources'];
  return isObject(declared) && declared['subscribe'] === true;
}

/** Two tools a page, so that a client that does not page sees too few. */
function pageOf(tools: readonly Record<string, unknown>[], cursor: unknown): Record<string, unknown> {
  const from = Number(cursor ?? 0);
  const next = from + 2;
  return { tools: tools.slice(from, next), ...(next < tools.length && { nextCursor: String(next) }) };
}

function callTool(
  state: AgentState,
  params: Record<string, unknown>,
  claims: InvocationClaims,
): Record<string, unknown> {
  const args = isObject(params['arguments']) ? params['arguments'] : {};
  const say = (value: string) => ({ content: [{ type: 'text', text: value }] });
  switch (params['name']) {
    case 'whoami':
      return say(JSON.stringify(claims));
    case 'count': {
      const session = claims.mcp?.session ?? 'none';
      const count = (state.sessions.get(session) ?? 0) + 1;
      state.sessions.set(session, count);
      return say(String(count));
    }
    case 'link':
      return links(String(args['uri']));
    case 'job':
      return begunTask(state, eraOf(claims.mcp?.revision ?? ''));
    case 'refuse':
      return { rpcError: `Tool refuse not found` };
    default:
      return say(`${state.options.name}: ${args['text'] ?? JSON.stringify(args)}`);
  }
}

const taskTimes = { createdAt: '2025-11-25T10:30:00Z', lastUpdatedAt: '2025-11-25T10:30:00Z' };

/** The only task that there is. */
function taskIdOf({ options }: AgentState): string {
  return `${options.instance ?? `${options.name}-1`}..code.1`;
}

/** In the words of the client's era. */
function begunTask(state: AgentState, era: string): Record<string, unknown> {
  const task = { taskId: taskIdOf(state), status: 'working', ...taskTimes };
  return era === 'stateless'
    ? { resultType: 'task', ...task, ttlMs: null }
    : { task: { ...task, ttl: null } };
}

function aboutTask(state: AgentState, method: string, taskId: unknown): Record<string, unknown> {
  if (taskId !== taskIdOf(state)) return { rpcError: 'there is no such task' };
  const done = links('doc://one');
  if (method === 'tasks/result')
    return { ...done, _meta: { 'io.modelcontextprotocol/related-task': { taskId } } };
  if (method !== 'tasks/get') return {};
  return { taskId, status: 'completed', ...taskTimes, ttlMs: null, result: done };
}

/** A resource in every place of a result that names one. */
function links(uri: string): Record<string, unknown> {
  return {
    content: [
      { type: 'resource_link', uri, name: 'linked' },
      { type: 'resource', resource: { uri, text: 'embedded' } },
      { type: 'text', text: uri },
    ],
    structuredContent: { uri },
    _meta: { ui: { resourceUri: uri } },
  };
}

function isStreamed(name: unknown): boolean {
  return ['progress', 'ask', 'forge', 'forever', 'break'].includes(String(name));
}

interface StreamedCall {
  readonly id: string | number;
  readonly params: Record<string, unknown>;
  readonly claims: InvocationClaims;
}

function streamCall(state: AgentState, response: ServerResponse, { id, params }: StreamedCall): void {
  const args = isObject(params['arguments']) ? params['arguments'] : {};
  if (params['name'] === 'forge') {
    forgeQuestion(response, String(args['type']), String(args['id']));
    return;
  }
  response.writeHead(200, sseHeaders);
  const done = resultOf(id, { content: [{ type: 'text', text: `${state.options.name} done` }] });
  switch (params['name']) {
    case 'progress':
      for (const progress of [1, 2]) {
        response.write(
          encodeMessage(notificationOf('notifications/progress', { progressToken: 'p', progress })),
        );
      }
      response.end(encodeMessage(done, 'event-1'));
      return;
    case 'ask':
      response.write(
        encodeMessage({
          jsonrpc: '2.0',
          id: questionIdOf(state),
          method: 'elicitation/create',
          params: question,
        }),
      );
      waitForAnswer(state, response, () => response.end(encodeMessage(done)));
      return;
    case 'break':
      response.write(
        encodeMessage(notificationOf('notifications/progress', { progressToken: 'p', progress: 1 })),
      );
      setTimeout(() => response.destroy(), 20);
      return;
    default:
      response.write(': started\n\n');
  }
}

/** Names the instance, as ids of an agent-server's questions do. */
function questionIdOf({ options }: AgentState): string {
  return joinParkState(options.instance ?? `${options.name}-1`, 'question-7');
}

/** Answers with a question of a chosen id, in a body of a chosen type. */
function forgeQuestion(response: ServerResponse, type: string, id: string): void {
  const message = { jsonrpc: '2.0', id, method: 'elicitation/create', params: question };
  response.writeHead(200, { 'content-type': type });
  response.end(type.includes('json') ? JSON.stringify(message) : encodeMessage(message));
}

function waitForAnswer(state: AgentState, response: ServerResponse, then: () => void): void {
  response.once('close', () => clearInterval(timer));
  const timer = setInterval(() => {
    if (
      !state.seen.some(
        ({ body }) => body.includes(`"id":"${questionIdOf(state)}"`) && body.includes('"result"'),
      )
    )
      return;
    clearInterval(timer);
    then();
  }, 5);
}
