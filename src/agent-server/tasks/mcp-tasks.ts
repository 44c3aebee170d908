import type { Clock } from '#kit/clock.ts';
import { readInputResponses } from '#mcp/bridge/questions.ts';
import type { Era } from '#mcp/eras.ts';
import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { declaresTasks, missingTasks } from '#mcp/tasks/capabilities.ts';
import { durablePlace } from '#mcp/tasks/ids.ts';
import type { WireKey } from '#wire/keys.ts';
import type { RoundsOptions } from '../bridge/rounds.ts';
import { createTaskNames, ownerOf, type TaskNames, unknownTask } from '../bridge/tasks/names.ts';
import type { TaskRecord } from '../queue/queue.ts';
import type { CallContext } from '../source.ts';
import { begunFields, isFinal, sessionFields, statelessFields } from './mcp-fields.ts';
import { paceReports } from './paced-reports.ts';
import { payloadOf } from './payload.ts';
import type { TaskService } from './service.ts';
import { answerWithResult } from './session-result.ts';
import { watchTasks } from './watch-tasks.ts';

export interface McpTasksOptions {
  readonly service: TaskService;
  readonly clock: Clock;
  /** The agent's keys, the current one first. Every replica has them. */
  readonly keys: () => readonly WireKey[];
  /** uid of this instance, and which replica it is. */
  readonly instance: string;
  readonly slot: number | undefined;
  /** Milliseconds that clients are told to wait between two looks. */
  readonly pollMs: number;
  /** How clients of 2025-11-25 are asked what a task wants to know. */
  readonly rounds: RoundsOptions;
  /** A task that a session of 2025-11-25 began is in another state. */
  readonly tellSession: (session: string, params: Params) => void;
}

/** Durable tasks as MCP has them: the extension of 2026-07-28, and the tasks of 2025-11-25. */
export interface McpTasks {
  /** What a client is told whose call became this task. */
  begun(record: TaskRecord, context: CallContext): Result;
  /** tasks/get, tasks/update and tasks/cancel; for clients with sessions tasks/get, -result, -list and -cancel. */
  request(method: string, params: Params, context: CallContext): Promise<Result>;
  /** Tells `tell` how these tasks go on, as notifications/tasks does; `ids` are those that are the client's. */
  watch(
    ids: readonly string[],
    context: CallContext,
    tell: (task: Params) => void,
  ): Promise<{ readonly ids: readonly string[]; end(): void }>;
  close(): void;
}

/** A task and what its client calls it. */
interface Named {
  readonly record: TaskRecord;
  readonly taskId: string;
}

export function createMcpTasks(options: McpTasksOptions): McpTasks {
  const { service, pollMs } = options;
  const names = createTaskNames(options);
  const sessions = tellSessions(options);

  function nameOf(record: TaskRecord): string {
    const own = payloadOf(record).instance ?? options.instance;
    const minted = own === options.instance ? names : createTaskNames({ ...options, instance: own });
    return minted.mint(record.owner ?? '', durablePlace(options.slot), record.id);
  }
  /** Throws RpcError `invalidParams` for what is not a task of this client. */
  async function find(taskId: unknown, context: CallContext): Promise<Named> {
    const owner = ownerOf(context);
    const record = await service.get(names.read(owner, taskId).id);
    if (record === undefined || record.owner !== owner) throw unknownTask();
    return { record, taskId: String(taskId) };
  }
  const faces: Readonly<Record<Era, Face>> = {
    stateless: statelessFace(options),
    sessions: sessionFace(options),
  };
  return {
    begun(record, context) {
      const taskId = nameOf(record);
      if (context.era === 'stateless') return begunFields(record, taskId, pollMs);
      if (context.session !== undefined && !isFinal(record))
        sessions.begun(record.id, context.session, taskId);
      return { task: sessionFields(record, taskId, pollMs) };
    },
    async request(method, params, context) {
      if (context.era === 'stateless' && !declaresTasks(context.capabilities)) throw missingTasks();
      if (method === 'tasks/list' && context.era === 'sessions')
        return listOwn(options, nameOf, params, context);
      const serve = faces[context.era][method];
      if (serve === undefined) throw new RpcError(errorCodes.methodNotFound, `Method not found: ${method}`);
      return serve(await find(params['taskId'], context), params, context);
    },
    watch(taskIds, context, tell) {
      const owner = ownerOf(context);
      const named = new Map(taskIds.flatMap((taskId) => readName(names, owner, taskId)));
      return watchTasks({ ...options, names: named, owner, tell });
    },
    close: sessions.close,
  };
}

/** Tells sessions how the tasks go on that they began here, until those end. */
function tellSessions({ service, clock, pollMs, tellSession }: McpTasksOptions) {
  /** By the queue's ids; `taskId` is what the session was told. */
  const begun = new Map<string, { readonly session: string; readonly taskId: string }>();
  const reports = paceReports(clock, async (id) => {
    const known = begun.get(id);
    if (known === undefined) return;
    const record = await service.get(id);
    if (record === undefined || isFinal(record)) begun.delete(id);
    if (record !== undefined) tellSession(known.session, sessionFields(record, known.taskId, pollMs));
  });
  const stopListening = service.onChange((change) => {
    if (begun.has(change.id)) reports.changed(change);
  });
  return {
    begun: (id: string, session: string, taskId: string) => void begun.set(id, { session, taskId }),
    close() {
      stopListening();
      reports.close();
    },
  };
}

/** The queue's id of what may be the client's task, and its name; nothing for anything else. */
function readName(names: TaskNames, owner: string, taskId: string): (readonly [string, string])[] {
  try {
    return [[names.read(owner, taskId).id, taskId]];
  } catch (error) {
    if (error instanceof RpcError) return [];
    throw error;
  }
}

type Serve = (task: Named, params: Params, context: CallContext) => Promise<Result>;
type Face = Readonly<Record<string, Serve | undefined>>;

function statelessFace({ service, pollMs }: McpTasksOptions): Face {
  return {
    'tasks/get': async ({ record, taskId }) => statelessFields(record, taskId, pollMs),
    async 'tasks/update'({ record }, params) {
      await service.answer(record.id, readInputResponses(params));
      return {};
    },
    async 'tasks/cancel'({ record }) {
      await service.cancel(record.id);
      return {};
    },
  };
}

function sessionFace(options: McpTasksOptions): Face {
  const { service, pollMs } = options;
  return {
    'tasks/get': async ({ record, taskId }) => sessionFields(record, taskId, pollMs),
    'tasks/result': ({ record, taskId }, _params, context) =>
      answerWithResult({ ...options, id: record.id, taskId, context }),
    async 'tasks/cancel'({ record, taskId }) {
      const said = await service.cancel(record.id);
      if (said === 'finished')
        throw new RpcError(errorCodes.invalidParams, 'Invalid params: the task has ended already');
      const now = (await service.get(record.id)) ?? record;
      // What runs is being ended: nothing else can become of it.
      return { ...sessionFields(now, taskId, pollMs), status: 'cancelled' };
    },
  };
}

/** Tasks in one answer to tasks/list. */
const pageSize = 100;

/** The client's own tasks, the oldest first. A cursor is the id of the last one before it. */
async function listOwn(
  { service, pollMs }: McpTasksOptions,
  nameOf: (record: TaskRecord) => string,
  { cursor }: Params,
  context: CallContext,
): Promise<Result> {
  const after = typeof cursor === 'string' ? { after: cursor } : {};
  const listed = await service.list({ owner: ownerOf(context), limit: pageSize, ...after });
  const last = listed.at(-1);
  const tasks = listed
    // Of the others clients know an id of the contract, which an id of MCP would tell.
    .filter((record) => payloadOf(record).instance !== undefined)
    .map((record) => sessionFields(record, nameOf(record), pollMs));
  return { tasks, ...(listed.length === pageSize && { nextCursor: last?.id }) };
}
