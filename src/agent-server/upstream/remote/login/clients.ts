import type * as oauth from 'oauth4webapi';
import { unusable } from '../discovery.ts';
import { becomeClient, type KnownClient, type RegistrationOptions } from './registration.ts';

/** The clients that the agent is at authorization servers, one for all of its users. */
export interface Clients {
  /** The one to be at this server. Throws UpstreamUnauthorized when there is none. */
  at(server: oauth.AuthorizationServer, options: RegistrationOptions): Promise<KnownClient>;
  /** The server knows it no more. */
  forget(client: KnownClient): void;
  all(): readonly KnownClient[];
}

/** `kept` are those from before; `keep` is told all whenever they are others. */
export function holdClients(
  now: () => number,
  kept: readonly KnownClient[] = [],
  keep: (clients: readonly KnownClient[]) => void = () => undefined,
): Clients {
  const known = new Map(kept.map((client) => [keyOf(client), client]));
  const pending = new Map<string, Promise<KnownClient>>();

  async function become(
    server: oauth.AuthorizationServer,
    options: RegistrationOptions,
  ): Promise<KnownClient> {
    const client = await becomeClient(server, options);
    known.set(keyOf(client), client);
    keep([...known.values()]);
    return client;
  }
  return {
    async at(server, options) {
      const { issuer } = server;
      const key = keyOf({ issuer, redirectUri: options.redirectUri });
      const client = known.get(key);
      if (client !== undefined && isUsable(client, options, now())) return client;
      requireSameServer(issuer, options, [...known.values()]);
      const becoming = pending.get(key) ?? become(server, options).finally(() => pending.delete(key));
      pending.set(key, becoming);
      return becoming;
    },
    forget(client) {
      if (known.get(keyOf(client)) === client && client.origin === 'registered') known.delete(keyOf(client));
      keep([...known.values()]);
    },
    all: () => [...known.values()],
  };
}

function keyOf({ issuer, redirectUri }: Pick<KnownClient, 'issuer' | 'redirectUri'>): string {
  return JSON.stringify([issuer, redirectUri]);
}

function isUsable(client: KnownClient, { clientId }: RegistrationOptions, now: number): boolean {
  if (clientId !== undefined) return client.origin === 'spec' && client.clientId === clientId;
  return client.origin !== 'spec' && now < (client.secretEnds ?? Number.POSITIVE_INFINITY);
}

/** What the spec says was meant for the server that was trusted then: another one never learns of it by itself. */
function requireSameServer(
  issuer: string,
  options: RegistrationOptions,
  known: readonly KnownClient[],
): void {
  if (options.clientId === undefined || options.issuer !== undefined) return;
  const first = known.find(({ origin, clientId }) => origin === 'spec' && clientId === options.clientId);
  if (first === undefined || first.issuer === issuer) return;
  throw unusable(
    `${options.url.host} now trusts ${issuer}, and the client of the Agent is one of ${first.issuer}`,
    'Name the right one in mcp.upstream.oauth.issuer.',
  );
}
