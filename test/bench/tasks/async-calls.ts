import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';

interface Answer {
  readonly session: string | undefined;
  readonly body: string;
}

const revision = '2025-11-25';

/** Calls an `async` tool of an agent-server without tokens so many times; every answer must hold the id of a task. */
export async function callAsync(socket: string, tool: string, calls: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const ask = (message: object, session?: string) => post(socket, agent, message, session);
  try {
    const clientInfo = { name: 'bench', version: '1' };
    const hello = { protocolVersion: revision, capabilities: {}, clientInfo };
    const { session } = await ask({ jsonrpc: '2.0', id: 0, method: 'initialize', params: hello });
    await ask({ jsonrpc: '2.0', method: 'notifications/initialized' }, session);
    let next = 1;
    const producer = async () => {
      for (let id = next++; id <= calls; id = next++) {
        const params = { name: tool, arguments: { text: `call ${id}` } };
        const { body } = await ask({ jsonrpc: '2.0', id, method: 'tools/call', params }, session);
        if (!body.includes('"taskId"')) throw new Error(`a call became no task: ${body.slice(0, 300)}`);
      }
    };
    await Promise.all(Array.from({ length: 32 }, producer));
  } finally {
    agent.destroy();
  }
}

function post(socketPath: string, agent: Agent, message: object, session?: string): Promise<Answer> {
  const body = JSON.stringify(message);
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'content-length': Buffer.byteLength(body),
    'mcp-protocol-version': revision,
    ...(session !== undefined && { 'mcp-session-id': session }),
  };
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, agent, method: 'POST', path: '/mcp', headers }, (answer) => {
      const given = answer.headers['mcp-session-id'];
      text(answer).then(
        (said) => resolve({ session: typeof given === 'string' ? given : undefined, body: said }),
        reject,
      );
    });
    sent.once('error', reject);
    sent.end(body);
  });
}
