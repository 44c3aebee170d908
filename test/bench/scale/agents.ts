/** The agent-servers of many agents in one process: each has a socket of its own. See serve-agent.ts. */
import { serveAgent } from './serve-agent.ts';

export interface AgentOrder {
  readonly socket: string;
  readonly instance: string;
  readonly principal: string;
  readonly key: { readonly kid: string; readonly secret: string };
}

process.on('message', async ({ socket, instance, principal, key }: AgentOrder) => {
  const secret = Buffer.from(key.secret, 'base64url');
  await serveAgent({ listen: { path: socket }, instance, principal, key: { kid: key.kid, secret } });
  process.send?.({ instance });
});
process.on('disconnect', () => process.exit(0));
