/**
 * Many agents in one process, each with a tool `<name>-echo`, that can be made slow, silent or dead and well again:
 *   neighbours.ts, [{socket, secret (base64url), kid, instance, name}] on standard input → prints `ready N`; then takes
 *   {index, mode} on its channel and sends {done} for each.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerChallenge, proofPath } from '#wire/challenge.ts';
import type { Neighbour, NeighbourMode } from '../neighbours-run.ts';

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: { readonly arguments?: { readonly text?: string } };
}

const slowMs = 2_000;
const modes = new Map<Neighbour, NeighbourMode>();
const servers = new Map<Neighbour, Server>();
/** Answers that nobody gets while their agent is silent. */
const held = new Map<Neighbour, (() => void)[]>();

function resultOf({ name }: Neighbour, { method, params }: Message): object {
  if (method === 'tools/list') return { tools: [{ name: `${name}-echo`, inputSchema: { type: 'object' } }] };
  if (method === 'tools/call') return { content: [{ type: 'text', text: params?.arguments?.text ?? '' }] };
  const serverInfo = { name, version: '1' };
  return method === 'initialize'
    ? { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo }
    : {};
}

async function serve(agent: Neighbour, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const send = (value: object) => {
    const body = JSON.stringify(value);
    const length = Buffer.byteLength(body);
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': length }).end(body);
  };
  const url = request.url ?? '';
  if (url.startsWith(proofPath)) {
    const nonce = new URLSearchParams(url.slice(url.indexOf('?'))).get('nonce') ?? '';
    const key = { kid: agent.kid, secret: Buffer.from(agent.secret, 'base64url') };
    send(answerChallenge(key, agent.instance, nonce));
    return;
  }
  const message = JSON.parse((await text(request)) || '{}') as Message;
  if (modes.get(agent) === 'silent') {
    await new Promise<void>((resolve) => {
      held.set(agent, [...(held.get(agent) ?? []), resolve]);
    });
  }
  if (modes.get(agent) === 'slow') await sleep(slowMs);
  if (message.id === undefined) response.writeHead(202).end();
  else send({ jsonrpc: '2.0', id: message.id, result: resultOf(agent, message) });
}

function listen(agent: Neighbour): Promise<void> {
  const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
    serve(agent, request, response).catch(() => response.destroy());
  });
  servers.set(agent, server);
  return new Promise((resolve) => server.listen(agent.socket, resolve));
}

async function change(agent: Neighbour, mode: NeighbourMode): Promise<void> {
  const before = modes.get(agent);
  modes.set(agent, mode);
  for (const release of held.get(agent) ?? []) release();
  held.delete(agent);
  if (before === 'dead' && mode !== 'dead') await listen(agent);
  if (mode !== 'dead') return;
  const server = servers.get(agent);
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve));
}

const agents = JSON.parse(await text(process.stdin)) as Neighbour[];
for (const agent of agents) await listen(agent);
console.log(`ready ${agents.length}`);
process.on('message', ({ index, mode }: { index: number; mode: NeighbourMode }) => {
  const agent = agents[index];
  if (agent !== undefined) void change(agent, mode).then(() => process.send?.({ done: index }));
});
process.on('disconnect', () => process.exit(0));
