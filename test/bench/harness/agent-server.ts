import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemRandom } from '#kit/random.ts';
import { ensureBundles } from '#main/bundle.ts';
import { connectProven } from '#wire/connect.ts';
import type { AgentIdentity, WireKey } from '#wire/keys.ts';
import type { LoadTarget } from '../load/order.ts';
import { checkout, type Scope, type Side, type Started, until } from './scope.ts';

export interface BenchAgentServer extends Started {
  readonly socket: string;
  readonly instance: string;
  readonly identity: AgentIdentity;
  readonly key: WireKey;
  /** How the load calls it directly, with a token on every call unless it asks for none. */
  target(call: Pick<LoadTarget, 'method' | 'name' | 'connections'>): LoadTarget;
}

export interface AgentServerOptions {
  /** `spec.mcp`. */
  readonly mcp: Record<string, unknown>;
  readonly limits?: Record<string, number>;
  readonly withoutTokens?: boolean;
  readonly identity?: AgentIdentity;
  readonly key?: WireKey;
  readonly side?: Side;
  readonly nodeFlags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export const bundle = join(checkout, 'dist/agent-server.mjs');
let serial = 0;

/** The agent-server as sandboxes run it: the bundle, on a Unix socket, without a sandbox. Answers when this resolves. */
export async function startAgentServer(scope: Scope, options: AgentServerOptions): Promise<BenchAgentServer> {
  await ensureBundles(checkout, () => undefined);
  if (!existsSync(bundle)) throw new Error(`${bundle} was not built`);
  serial += 1;
  const socket = join(scope.folder, `as${serial}.sock`);
  const instance = `bench-instance-${serial}`;
  const identity = options.identity ?? { namespace: 'default', name: `bench${serial}`, uid: `uid-${serial}` };
  const key = options.key ?? { kid: 'bench', secret: randomBytes(32) };
  const config = {
    version: 1,
    agent: { ...identity, instance, principal: `agent:${identity.namespace}/${identity.name}` },
    keys: [{ kid: key.kid, secret: key.secret.toString('base64url') }],
    mcp: options.mcp,
    env: { PATH: `${join(process.execPath, '..')}:/usr/local/bin:/usr/bin:/bin` },
    paths: { code: scope.folder, workspace: scope.folder },
    limits: options.limits ?? {},
  };
  const flags = options.withoutTokens === true ? ['--no-tokens'] : [];
  const args = ['--config-fd', '0', '--listen-socket', socket, ...flags];
  const started = scope.start(bundle, args, {
    input: JSON.stringify(config),
    ...(options.side && { side: options.side }),
    ...(options.nodeFlags && { nodeFlags: options.nodeFlags }),
    ...(options.env && { env: options.env }),
  });
  await until('the agent-server answers', async () => {
    const proof = { address: `unix:${socket}`, keys: [key], instance, random: systemRandom };
    const connection = await connectProven(proof);
    connection.socket.destroy();
    return true;
  });
  const token = {
    secret: key.secret.toString('base64url'),
    kid: key.kid,
    agent: identity,
    instance,
  };
  return {
    ...started,
    socket,
    instance,
    identity,
    key,
    target: (call) => ({
      address: { path: socket },
      url: '/mcp',
      ...(options.withoutTokens === true ? { era: 'sessions' as const } : { era: 'none' as const, token }),
      ...call,
    }),
  };
}

/** A prompt whose answer holds its argument `text`: the cheapest thing an agent-server does itself. */
export const sayPrompt = { name: 'say', messages: [{ role: 'user', content: '${text}' }] };
