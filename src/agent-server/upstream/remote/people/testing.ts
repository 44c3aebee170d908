import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { defaultSettings } from '#agent-server/config/settings.ts';
import { createGate } from '#agent-server/queue/gate.ts';
import type { CallContext } from '#agent-server/source.ts';
import { createUpstreamSource } from '#agent-server/upstream/upstream-source.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import type { Result } from '#mcp/results.ts';
import { type LoginServer, loginServer } from '#test/fixtures/remote/login-server.ts';
import { defaultScope, type InvocationClaims } from '#wire/claims.ts';
import { loginOriginHeader } from '#wire/upstream-login.ts';
import { type RemoteOptions, remoteForPeople } from '../remote.ts';
import { listen } from '../testing.ts';
import { createLogins, type Logins } from './logins.ts';
import { holdPeople, type People } from './people.ts';
import { createPeopleSource, type PeopleSource } from './people-source.ts';
import { userOf } from './user-of.ts';
import { openVault } from './vault.ts';

const redirectUri = 'http://127.0.0.1:8080/auth/upstream/default/demo/callback';

export interface PeoplePlace {
  readonly remote: LoginServer;
  readonly source: PeopleSource;
  readonly logins: Logins;
  readonly folder: string;
  /** Logs this user of the router in, with an account of the remote server. */
  logIn(user: string, account?: string): Promise<void>;
  /** Where the remote server leads back to after this user began and `account` logged in. */
  comeBack(user: string, account: string): Promise<URL>;
  call(user: string | undefined, tool: string, more?: Partial<CallContext>): Promise<Result>;
}

export interface PeoplePlaceOptions {
  /** Takes the place of what holds people. */
  readonly people?: (people: People) => People;
  /** One that ran before. */
  readonly before?: Pick<PeoplePlace, 'remote' | 'folder'> & { readonly port: number };
  readonly uid?: string;
}

/** A remote server with accounts, and a source at which each user logs in. */
export async function peoplePlace(
  t: TestContext,
  { people: other = (people) => people, before, uid = 'k' }: PeoplePlaceOptions = {},
): Promise<PeoplePlace & { readonly port: number }> {
  const folder = before?.folder ?? (await mkdtemp(join(tmpdir(), 'people-')));
  let port = before?.port ?? 0;
  const remote = before?.remote ?? loginServer(() => `http://127.0.0.1:${port}`);
  if (before === undefined) port = await listen(t, createServer(remote.listener));
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  const options: RemoteOptions = {
    ...{ url, oauth: { mode: 'perUser' }, secrets: () => secrets, proxyPort: undefined },
    ...{ machineAuthorities: undefined, probeMs: 60_000, log: silentLog, clock: systemClock },
    ...{ startMs: 5_000, maxMessageBytes: 1_000_000, maxSessions: 4, sessionIdleMs: 60_000 },
  };
  const at = remoteForPeople(options);
  const key = { kid: 'k', secret: Buffer.alloc(32, uid) };
  const keys = () => [key];
  const vault = openVault({
    ...{ folder: join(folder, 'logins'), keys, log: silentLog, now: () => systemClock.now() },
    owner: ['demo', url.href],
  });
  const people = other(holdPeople({ ...at.flow, clientId: undefined, scopes: undefined, vault }));
  const common = {
    keys,
    settings: defaultSettings,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
  };
  const gate = createGate({ limit: 64, maxWaiting: 1000, onFull: () => new Error('full') });
  const source = createPeopleSource({
    ...{ people, vault, host: url.host, page: '/auth/upstream/default/demo', end: at.end, idleMs: 60_000 },
    ...common,
    open: ({ tokens }) =>
      createUpstreamSource({
        open: at.connector(tokens),
        agent: 'agent:default/demo',
        instance: 'i',
        gate,
        ...common,
      }),
  });
  t.after(async () => {
    await source.close();
    await rm(folder, { recursive: true, force: true });
  });
  const logins = createLogins({ people, host: url.host, changed: source.changed });
  const nameOf = (user: string) => userOf({ claims: claimsOf(user) });
  async function comeBack(user: string, account: string): Promise<URL> {
    const { url: page = '' } = await logins(nameOf(user), { action: 'begin', redirectUri });
    const there = new URL(page);
    there.searchParams.set('account', account);
    const { headers } = await fetch(there, { redirect: 'manual' });
    return new URL(headers.get('location') ?? '');
  }
  return {
    ...{ remote, source, logins, folder, port, comeBack },
    async logIn(user, account = user) {
      const { searchParams } = await comeBack(user, account);
      await logins(nameOf(user), { action: 'finish', query: searchParams.toString() });
    },
    call: (user, name, more) =>
      source.request('tools/call', { name, arguments: {} }, { ...contextOf(user), ...more }),
  };
}

const secrets = { headers: {} };

export function contextOf(user: string | undefined): CallContext {
  return {
    ...{ era: 'sessions', revision: '2025-11-25', session: undefined, requestId: 1 },
    ...{ headers: { [loginOriginHeader]: 'http://127.0.0.1:8080' }, token: undefined, capabilities: {} },
    ...{ signal: new AbortController().signal, onProgress: undefined, logLevel: undefined },
    claims: user === undefined ? undefined : claimsOf(user),
    onLog: () => undefined,
  };
}

function claimsOf(user: string): InvocationClaims {
  const usr = { sub: user, id: user, email: '', username: user, roles: [], realm: 'default/people' };
  return {
    ...{ typ: 'invocation', iss: 'ploinky-router', aud: 'agent:default/demo', sub: user, usr },
    ...{ caller: 'router:first-party', tool: 't', scope: defaultScope, bh: '', jti: '', wl: 'i', hop: 0 },
    ...{ iat: 0, exp: 0, ims: 0 },
  };
}
