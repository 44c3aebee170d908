/**
 * The official SDK's server (v1, sessions, event-stream answers as its default is) with a tool that answers with its
 * argument and a prompt that does the same. Prints `port N`.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';
import { endWithParent } from './end-with-parent.ts';

const transports = new Map<string, StreamableHTTPServerTransport>();

function serverOfOne(): McpServer {
  const server = new McpServer({ name: 'sdk', version: '1' });
  const schema = { text: z.string() };
  server.registerTool('noop', { inputSchema: schema }, ({ text }) => ({ content: [{ type: 'text', text }] }));
  server.registerPrompt('say', { argsSchema: schema }, ({ text }) => ({
    messages: [{ role: 'user', content: { type: 'text', text } }],
  }));
  return server;
}

async function transportOf(request: IncomingMessage): Promise<StreamableHTTPServerTransport> {
  const id = request.headers['mcp-session-id'];
  const known = typeof id === 'string' ? transports.get(id) : undefined;
  if (known !== undefined) return known;
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (session) => void transports.set(session, transport),
  });
  // The SDK's own types do not agree under exactOptionalPropertyTypes.
  await serverOfOne().connect(transport as Parameters<McpServer['connect']>[0]);
  return transport;
}

const server = createServer({ keepAliveTimeout: 600_000 }, async (request, response) => {
  const transport = await transportOf(request);
  await transport.handleRequest(request, response);
});
server.listen(0, '127.0.0.1', () => console.log(`port ${(server.address() as AddressInfo).port}`));
endWithParent();
