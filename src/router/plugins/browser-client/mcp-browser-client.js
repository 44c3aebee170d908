/**
 * MCP client for pages that agents serve (Ploinky contract, §5.4). Speaks revision 2025-11-25 over
 * Streamable HTTP, keeps one session, opens a new one when the old is gone, and waits for queued tools.
 *
 *   import { createAgentClient } from '/MCPBrowserClient.js';
 *   const client = createAgentClient('/mcps/demo/mcp');
 *   await client.callTool('greet', { name: 'Ana' });
 */

const revision = '2025-11-25';
const clientInfo = { name: 'ploinky-browser-client', version: '1.0.0' };
/** Waits before another try, in milliseconds, when the agent is only starting. */
const retryDelays = [300, 900];
const passing =
  /Missing or invalid MCP session|Request timed out|fetch failed|Failed to fetch| is still starting\.|Try again in a moment/;

/**
 * @param {string} baseUrl MCP endpoint: `/mcp` or `/mcps/<agent>/mcp`.
 * @param {{requestHeaders?: Record<string, string>, taskPollIntervalMs?: number}} [options]
 */
export function createAgentClient(baseUrl, options = {}) {
  const session = { id: undefined, opening: undefined, server: undefined, nextId: 1 };
  const context = {
    url: baseUrl,
    headers: options.requestHeaders ?? {},
    pollMs: options.taskPollIntervalMs ?? 5000,
    session,
  };
  return {
    connect: () => open(context),
    listTools: () => listAll(context, 'tools/list', 'tools'),
    listResources: () => listAll(context, 'resources/list', 'resources'),
    callTool: (name, args = {}, callOptions = {}) => callTool(context, name, args, callOptions),
    readResource: (uri, meta) => ask(context, 'resources/read', withMeta({ uri }, meta)),
    ping: (meta) => ask(context, 'ping', withMeta({}, meta)),
    close: () => close(context),
    getCapabilities: () => session.server?.capabilities,
    getServerInfo: () => session.server?.serverInfo,
    getInstructions: () => session.server?.instructions,
  };
}

async function open(context) {
  const { session } = context;
  if (session.id !== undefined) return;
  session.opening ??= initialize(context).finally(() => {
    session.opening = undefined;
  });
  await session.opening;
}

async function initialize(context) {
  const { session } = context;
  const params = { protocolVersion: revision, capabilities: {}, clientInfo };
  const { result, sessionId } = await send(context, {
    jsonrpc: '2.0',
    id: session.nextId++,
    method: 'initialize',
    params,
  });
  session.id = sessionId;
  session.server = result;
  await send(context, { jsonrpc: '2.0', method: 'notifications/initialized' });
}

async function close(context) {
  const { id } = context.session;
  if (id === undefined) return;
  context.session.id = undefined;
  await fetch(context.url, { method: 'DELETE', headers: { ...context.headers, 'mcp-session-id': id } }).catch(
    () => undefined,
  );
}

/** A request in the session; a session that is gone is opened again, an agent that is starting waited for. */
async function ask(context, method, params) {
  for (let attempt = 0; ; attempt++) {
    try {
      await open(context);
      const id = context.session.nextId++;
      return (await send(context, { jsonrpc: '2.0', id, method, params })).result;
    } catch (error) {
      const gone = error.status === 404 || /MCP session/.test(error.message);
      if (gone) context.session.id = undefined;
      const delay = retryDelays[attempt];
      if (delay === undefined || !(gone || passing.test(error.message))) throw error;
      await sleep(delay);
    }
  }
}

async function send(context, message) {
  const { session, headers, url } = context;
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session.id !== undefined && { 'mcp-session-id': session.id, 'mcp-protocol-version': revision }),
    },
    body: JSON.stringify(message),
  });
  const sessionId = answer.headers.get('mcp-session-id') ?? session.id;
  if (message.id === undefined) return { result: undefined, sessionId };
  const reply = await readReply(answer, message.id);
  if (reply?.result !== undefined) return { result: reply.result, sessionId };
  const text =
    reply?.error?.message ?? (typeof reply?.error === 'string' ? reply.error : `HTTP ${answer.status}`);
  throw Object.assign(new Error(text), { status: answer.status, code: reply?.error?.code });
}

async function readReply(answer, id) {
  const type = answer.headers.get('content-type') ?? '';
  if (!type.startsWith('text/event-stream')) return answer.json().catch(() => undefined);
  for await (const data of events(answer.body)) {
    const message = JSON.parse(data);
    if (message.id === id && message.method === undefined) return message;
  }
  throw new Error('fetch failed: the stream ended without an answer');
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split(/\r?\n\r?\n/);
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const lines = block.split(/\r?\n/).filter((line) => line.startsWith('data:'));
        const data = lines.map((line) => line.slice(5).trimStart()).join('\n');
        if (data !== '') yield data;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function listAll(context, method, member) {
  const items = [];
  let cursor;
  do {
    const result = await ask(context, method, cursor === undefined ? {} : { cursor });
    items.push(...(result[member] ?? []));
    cursor = result.nextCursor;
  } while (cursor !== undefined);
  return items;
}

/** Calls a tool; when the agent only queued it, waits until the task is done. */
async function callTool(context, name, args, { onTaskUpdate } = {}) {
  const result = await ask(context, 'tools/call', { name, arguments: args });
  const taskId = result?.metadata?.taskId;
  if (taskId === undefined) return result;
  const task = await waitForTask(context, result.metadata, onTaskUpdate);
  const { toolName, status, createdAt, updatedAt } = task;
  return {
    content: task.result?.content ?? [],
    metadata: {
      ...result.metadata,
      ...task.result?.metadata,
      taskId,
      toolName,
      status,
      createdAt,
      updatedAt,
    },
  };
}

async function waitForTask(context, metadata, onTaskUpdate) {
  let seen = '';
  for (;;) {
    const answer = await fetch(taskUrl(context, metadata), { headers: context.headers, cache: 'no-store' });
    const body = await answer.json().catch(() => ({}));
    if (answer.status === 404) throw new Error(body.error ?? 'task not found');
    const { task } = body;
    if (task !== undefined) {
      const stamp = `${task.status} ${task.logSeq} ${JSON.stringify(task.progress)}`;
      if (stamp !== seen) onTaskUpdate?.(task);
      seen = stamp;
      if (task.status === 'completed') return task;
      if (task.status === 'failed' || task.status === 'cancelled') {
        throw Object.assign(new Error(task.error ?? `task ${task.status}`), { task });
      }
    }
    await sleep(context.pollMs);
  }
}

function taskUrl(context, metadata) {
  const base = new URL(context.url, globalThis.location?.href);
  const path =
    metadata.agent === undefined
      ? base.pathname.replace(/\/mcp$/, '/task')
      : `/mcps/${encodeURIComponent(metadata.agent)}/task`;
  return new URL(`${path}?taskId=${encodeURIComponent(metadata.taskId)}&_=${Date.now()}`, base).href;
}

function withMeta(params, meta) {
  return meta === undefined ? params : { ...params, _meta: meta };
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
