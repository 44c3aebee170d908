import { createBroadcast } from '#agent-server/broadcast.ts';
import { AgentServerError } from '#agent-server/errors.ts';
import {
  type CallContext,
  type Catalog,
  emptyCatalog,
  type Source,
  type SourceChange,
} from '#agent-server/source.ts';
import { codeOf } from '#kit/errors.ts';
import type { Random } from '#kit/random.ts';
import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { Tool } from '#mcp/types.ts';
import { orAbort } from '../../keeper.ts';
import { askToLogIn, goesToLogIn, withoutLoginAnswer } from './ask-to-log-in.ts';
import { type ServedPeopleOptions, servePeople } from './served-people.ts';
import { nobody, userOf } from './user-of.ts';
import type { Vault } from './vault.ts';

export interface PeopleSourceOptions extends Omit<ServedPeopleOptions, 'onChange'> {
  readonly vault: Vault;
  /** Where people log in, for people to read. */
  readonly host: string;
  /** Path of the router's page where they begin to. */
  readonly page: string;
  readonly random: Random;
  /** Ends what all share. */
  readonly end: () => void;
}

/** A source, and how people get into it. */
export interface PeopleSource extends Source {
  /** A person has other tokens than before, or none. */
  changed(user: string): Promise<void>;
}

/**
 * A remote MCP server at which each caller logs in: one source a person, and nobody is served by another's. The lists
 * are what the server last told any of them, without resources, which are people's own.
 */
export function createPeopleSource(options: PeopleSourceOptions): PeopleSource {
  const { people, host, random } = options;
  const changes = createBroadcast<SourceChange>();
  const lists = holdLists(options, () => changes.tell({ type: 'catalog' }));
  const served = servePeople({
    ...options,
    onChange(change, source) {
      if (change.type === 'catalog') lists.take(source.catalog);
      else if (change.type === 'task') changes.tell(change);
    },
  });

  const logins = awaitLogins(options);

  /** Throws UpstreamLoginNeeded where only a login helps. */
  async function asCaller<T>(context: CallContext, work: (source: Source) => Promise<T>): Promise<T> {
    const user = userOf(context);
    if (user === nobody) throw noIdentity();
    const { tokens } = people.get(user);
    if (!tokens.isLoggedIn) throw loginNeeded(host);
    return served.use(user, async (source) => {
      try {
        await orAbort(source.settled, context.signal);
        return await work(source);
      } catch (error) {
        // What could not be connected for want of a login says only that it is not there.
        throw tokens.isLoggedIn ? error : loginNeeded(host);
      }
    });
  }
  async function serve(method: string, params: Params, context: CallContext): Promise<Result> {
    const isLogin = method === 'tools/call' && params['name'] === loginTool && lists.areUnknown();
    if (!isLogin)
      return asCaller(context, (source) => source.request(method, withoutLoginAnswer(params), context));
    await asCaller(context, async (source) => lists.take(source.catalog));
    return { content: [{ type: 'text', text: `You are logged in at ${host}.` }] };
  }
  return {
    settled: Promise.resolve(),
    get catalog() {
      return lists.current();
    },
    status: { ready: true, reason: 'Ready', message: '' },
    onChange: changes.listen,
    async request(method, params, context) {
      try {
        if (goesToLogIn(params)) await logins.wait(userOf(context), context.signal);
        return await serve(method, params, context);
      } catch (error) {
        if (codeOf(error) !== 'UpstreamLoginNeeded') throw error;
        return askToLogIn(method, params, context, { host, page: options.page, id: random.uuid() });
      }
    },
    watchTasks: (ids, context, tell) =>
      asCaller(context, async (source) => (await source.watchTasks?.(ids, context, tell)) ?? noTasks),
    endSession: (session) => served.each((source) => source.endSession?.(session)),
    async changed(user) {
      await served.renew(user);
      logins.tell(user);
    },
    async close() {
      await served.close();
      await options.vault.settled();
      options.end();
    },
  };
}

/** How long, in milliseconds, a call waits for somebody who is away to log in. */
const patienceMs = 25_000;

function awaitLogins({ people, clock }: PeopleSourceOptions) {
  const changed = createBroadcast<string>();
  return {
    tell: changed.tell,
    /** Resolves when the person has logged in, and when that takes too long. */
    async wait(user: string, signal: AbortSignal): Promise<void> {
      if (user === nobody || people.get(user).tokens.isLoggedIn) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const stop = changed.listen((who) => {
        if (who === user) resolve();
      });
      const cancel = clock.after(patienceMs, resolve);
      await orAbort(promise, signal).finally(() => {
        stop();
        cancel();
      });
    },
  };
}

const noTasks = { ids: [], end: () => undefined };
const loginTool = 'log_in';
const catalogName = 'catalog';

function holdLists({ vault, host }: PeopleSourceOptions, onChange: () => void) {
  let lists = vault.read(catalogName) as Catalog | undefined;
  const unknown = unknownLists(host);
  return {
    current: () => lists ?? unknown,
    areUnknown: () => lists === undefined,
    take(told: Catalog): void {
      const next = { ...told, resources: [], subscriptions: false };
      if (told === emptyCatalog || JSON.stringify(next) === JSON.stringify(lists)) return;
      lists = next;
      void vault.write(catalogName, next);
      onChange();
    },
  };
}

/** What there is before anybody has logged in: a tool that leads there. */
function unknownLists(host: string): Catalog {
  const tool: Tool = {
    name: loginTool,
    title: `Log in at ${host}`,
    description: `Log in at ${host}. Its tools appear here when somebody has logged in.`,
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
  };
  return { ...emptyCatalog, tools: [tool] };
}

function loginNeeded(host: string): AgentServerError {
  return new AgentServerError('UpstreamLoginNeeded', `${host} wants the caller to log in`);
}

function noIdentity(): RpcError {
  return new RpcError(
    errorCodes.invalidParams,
    'Nobody knows who calls, and each caller logs in at the server of this agent: the Agent needs an auth mode (spec.auth.mode: pwd, sso or guest)',
  );
}
