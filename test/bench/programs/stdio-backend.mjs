// The same cheapest server over standard input and output: what npm mcp-proxy puts on HTTP.
import { createInterface } from 'node:readline';

const tools = [{ name: 'noop', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } }];

function resultOf(method, params) {
  if (method === 'tools/call') return { content: [{ type: 'text', text: params?.arguments?.text ?? '' }] };
  if (method === 'tools/list') return { tools };
  if (method === 'initialize') {
    return {
      protocolVersion: params?.protocolVersion ?? '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'raw', version: '1' },
    };
  }
  return {};
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: resultOf(method, params) })}\n`);
  })
  .on('close', () => process.exit(0));
