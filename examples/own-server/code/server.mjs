// A whole MCP server (Streamable HTTP, stateless) in plain Node, without a library.
import { createServer } from 'node:http';

const tools = {
  add: {
    description: 'Adds two numbers.',
    inputSchema: {
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
    },
    run: ({ a, b }) => String(a + b),
  },
  roll: {
    description: 'Rolls a die.',
    inputSchema: { type: 'object', properties: { sides: { type: 'integer', minimum: 2, default: 6 } } },
    run: ({ sides = 6 }) => String(1 + Math.floor(Math.random() * sides)),
  },
};

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'own-server', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({
    tools: Object.entries(tools).map(([name, { run: _run, ...tool }]) => ({ name, ...tool })),
  }),
  'tools/call': ({ name, arguments: args = {} }) => {
    const tool = tools[name];
    if (tool === undefined) throw new Error(`there is no tool ${name}`);
    return { content: [{ type: 'text', text: tool.run(args) }] };
  },
};

function answer({ id, method, params = {} }) {
  const handler = methods[method];
  if (handler === undefined) return { jsonrpc: '2.0', id, error: { code: -32601, message: `no ${method}` } };
  try {
    return { jsonrpc: '2.0', id, result: handler(params) };
  } catch (error) {
    return { jsonrpc: '2.0', id, error: { code: -32602, message: error.message } };
  }
}

async function handle(request, response) {
  const path = request.url.split('?')[0];
  if (path === '/api/time') return sendJson(response, 200, { now: new Date().toISOString() });
  if (path !== '/mcp') return sendJson(response, 404, { error: 'not found' });
  if (request.method !== 'POST') return response.writeHead(405, { allow: 'POST' }).end();
  const message = JSON.parse(await new Response(request).text());
  // A notification has no id, and wants no answer.
  if (message.id === undefined) return response.writeHead(202).end();
  sendJson(response, 200, answer(message));
}

function sendJson(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const server = createServer((request, response) => {
  handle(request, response).catch((error) => sendJson(response, 400, { error: error.message }));
});
server.listen(Number(process.env.PORT), '127.0.0.1', () => {
  process.stdout.write(`own-server listens on ${server.address().port}\n`);
});
