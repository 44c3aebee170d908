import type { Clock } from '#kit/clock.ts';
import { digestOf } from '#kit/digest.ts';
import { isObject } from '#kit/json.ts';
import type { Random } from '#kit/random.ts';
import { askableCapabilities, canBeAsked } from '#mcp/bridge/capabilities.ts';
import { type Era, latestSessionRevision } from '#mcp/eras.ts';
import type { Params } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { declaresTasks, missingTasks, taskSupportOf } from '#mcp/tasks/capabilities.ts';
import type { TaskName } from '#mcp/tasks/ids.ts';
import { begunTask, renameInParams, renameInResult } from '#mcp/tasks/rename.ts';
import { begunForStateless } from '#mcp/tasks/translate.ts';
import type { Settings } from '../../config/settings.ts';
import type { CallContext } from '../../source.ts';
import { refuseToAsk } from '../../upstream/resource-watch.ts';
import { sharedSession, userOf } from '../bridge.ts';
import { createAskingTasks } from './asking-tasks.ts';
import { type AwaitOptions, awaitTask } from './await-task.ts';
import { createKnownTasks, type KnownTask, type KnownTasks, type TaskLink } from './known-tasks.ts';
import { createTaskNames, ownerOf, type TaskNamesOptions, unknownTask } from './names.ts';
import { serveSessionTask } from './session-tasks.ts';

/** Any request to the server, as its context says. */
export type SendMethod = (method: string, params: Params, context: CallContext) => Promise<Result>;

export interface TasksOptions extends TaskNamesOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly random: Random;
  /** Something that only a waiting client could have been told. */
  onDropped(what: 'progress' | 'log'): void;
}

/** Tasks of the server behind this agent, for clients of either era; see docs/bridging.md. */
export interface Tasks {
  /**
   * The params of a tool call of a client of 2026-07-28 for a server that serves it in 2025-11-25: a task where the
   * tool can be one. Throws RpcError `missingCapability`.
   */
  forSessions(params: Params, context: CallContext, tool: unknown): Params;
  /**
   * What a client is told of a tool's result that says that a task has begun; a client without tasks waits for its
   * end. `served`: the era in which the server serves the client; `by`: as what the call was sent.
   */
  begun(
    served: Era,
    result: Result,
    context: CallContext,
    by: CallContext,
    send: SendMethod,
  ): Promise<Result>;
  /** A request about tasks. Throws RpcError in the terms of the client's era. */
  request(
    served: Era,
    method: string,
    params: Params,
    context: CallContext,
    send: SendMethod,
  ): Promise<Result>;
  /**
   * A notification of the server about a task (2025), in the upstream session of this client or in the shared one,
   * and the session that it is for. Undefined: nobody's.
   */
  told(
    params: Params,
    upstream: string | undefined,
  ): { readonly session: string; readonly params: Params } | undefined;
  /** The id of a task at a server of 2026-07-28. Throws RpcError `invalidParams` unless it is the client's. */
  idOf(name: unknown, context: CallContext): string;
  close(): void;
}

export function createTasks(options: TasksOptions): Tasks {
  const { settings } = options;
  const names = createTaskNames(options);
  const known = createKnownTasks(settings.maxKnownTasks);
  const asking = createAskingTasks({ ...askingLimits(settings), ...options });
  const waiting = awaitOptions(options);

  function remember(task: Result, served: Era, context: CallContext, by: CallContext): KnownTask {
    const owner = ownerOf(context);
    const id = String(task['taskId']);
    const link = served === 'sessions' ? linkOf(by) : undefined;
    const place = placeIn(served, by);
    const name = names.mint(owner, place, id);
    const remembered = { owner, name, place, id, link, session: context.session };
    known.add(remembered);
    return remembered;
  }
  return {
    forSessions(params, context, tool) {
      const { task: _foreign, ...rest } = params;
      const support = taskSupportOf(tool);
      if (support === 'forbidden') return params['task'] === undefined ? params : rest;
      if (declaresTasks(context.capabilities)) return { ...rest, task: {} };
      if (support === 'required') throw missingTasks();
      return rest;
    },
    async begun(served, result, context, by, send) {
      const task = begunTask(result);
      if (task === undefined) return result;
      const { name } = remember(task, served, context, by);
      if (served === 'stateless' && context.era === 'sessions') {
        const ask = (method: string, params: Params, signal: AbortSignal) =>
          send(method, params, { ...by, signal });
        return awaitTask(task, context, ask, waiting);
      }
      const renamed = renameInResult(result, () => name);
      return served === context.era ? renamed : begunForStateless(renamed);
    },
    async request(served, method, params, context, send) {
      if (context.era === 'stateless' && !declaresTasks(context.capabilities)) throw missingTasks();
      if (method === 'tasks/list') return listOwn(known, params, context, send);
      const client = String(params['taskId']);
      const owner = ownerOf(context);
      const name = names.read(owner, params['taskId']);
      const by = contextFor(served, method, name, client, context, known.find(name.place, name.id));
      const refuse = () => refuseOthers(known.find(placeIn(served, by), name.id), owner);
      refuse();
      // It may have become another's while the server was asked.
      const ask: SendMethod = (...request) => send(...request).finally(refuse);
      const about = (other: string, own: CallContext) => ask(other, { ...params, taskId: name.id }, own);
      const rename = (id: string) => (id === name.id ? client : id);
      if (served === context.era) return renameInResult(await about(method, by), rename);
      const task = {
        ...{ key: `${name.place} ${name.id}`, link: linkOf(by), context: by },
        send: (other: string, own: CallContext) =>
          ask(other, { taskId: name.id }, other === 'tasks/result' ? { ...own, task: name.id } : own),
      };
      return renameInResult(await serveSessionTask(method, params, task, asking), rename);
    },
    told(params, upstream) {
      const task = known.find(placeOf(upstream), String(params['taskId']));
      if (task?.session === undefined) return undefined;
      return { session: task.session, params: renameInParams(params, () => task.name) };
    },
    idOf(name, context) {
      const owner = ownerOf(context);
      const { id } = names.read(owner, name);
      refuseOthers(known.find(statelessPlace, id), owner);
      return id;
    },
    close: asking.close,
  };
}

function askingLimits(settings: Settings) {
  const { parkTtlMs: ttlMs, parkGatherMs: gatherMs, maxParkedCalls: max, maxParkedCallsPerUser } = settings;
  return { ttlMs, gatherMs, graceMs: 1000, max, maxPerUser: maxParkedCallsPerUser };
}

function awaitOptions({ settings, clock, random }: TasksOptions): AwaitOptions {
  const { upstreamTimeoutMs: timeoutMs, parkTtlMs: answerMs, maxInputRounds: maxRounds } = settings;
  return { clock, timeoutMs, answerMs, maxRounds, mintId: () => random.uuid() };
}

/** A page of the server's tasks without those of others. */
async function listOwn(
  known: KnownTasks,
  params: Params,
  context: CallContext,
  send: SendMethod,
): Promise<Result> {
  const owner = ownerOf(context);
  const place = placeOf(linkOf(context)?.session);
  const result = await send('tasks/list', params, context);
  const all = Array.isArray(result['tasks']) ? result['tasks'].filter(isObject) : [];
  const tasks = all.flatMap((task) => {
    const own = known.listed(String(task['taskId']), place, owner);
    return own === undefined ? [] : [{ ...task, taskId: own.name }];
  });
  return { ...result, tasks };
}

/** The upstream session of its own in which a call runs, as session-clients.ts decides it. */
function linkOf({ era, ask, session, capabilities }: CallContext): TaskLink | undefined {
  if (era !== 'sessions' || ask === undefined || session === undefined || !canBeAsked(capabilities))
    return undefined;
  return { session, capabilities: askableCapabilities(capabilities) };
}

/** A server of both eras may have another process for each, which count their tasks alike. */
const statelessPlace = 'stateless';

/** Where a call or request that is sent so ends up. */
function placeIn(served: Era, by: CallContext): string {
  return served === 'stateless' ? statelessPlace : placeOf(linkOf(by)?.session);
}

/** What tells apart the tasks of upstream sessions, or of the shared one, whose ids may be the same. */
function placeOf(session: string | undefined): string {
  return session === undefined ? '' : digestOf(session, 8);
}

/** A server that starts again may use its ids again: then one that was good before is another's task. */
function refuseOthers(task: KnownTask | undefined, owner: string): void {
  if (task !== undefined && task.owner !== owner) throw unknownTask();
}

/** A request about a task goes where the task began; what the task asks there, to whoever waits for its result. */
function contextFor(
  served: Era,
  method: string,
  { id, place }: TaskName,
  client: string,
  context: CallContext,
  known: KnownTask | undefined,
): CallContext {
  if (served === 'stateless') return context;
  const link = known === undefined ? guessLink(place, context) : known.link;
  const { ask } = context;
  const rename = (own: string) => (own === id ? client : own);
  return {
    ...context,
    era: 'sessions',
    revision: latestSessionRevision,
    session: link?.session,
    capabilities: link?.capabilities ?? {},
    ask:
      ask === undefined
        ? refuseToAsk
        : (asked, params, signal) => ask(asked, renameInParams(params, rename), signal),
    ...(method === 'tasks/result' && { task: id }),
  };
}

/** Of a task that is not remembered: where a call of the same client would run now. */
function guessLink(place: string, context: CallContext): TaskLink | undefined {
  if (place === '' || !canBeAsked(context.capabilities)) return undefined;
  const capabilities = askableCapabilities(context.capabilities);
  const session = context.era === 'sessions' ? context.session : sharedSession(userOf(context), capabilities);
  return session === undefined ? undefined : { session, capabilities };
}

/** Whether this method is about tasks in either era. */
export function isTaskMethod(method: string): boolean {
  return method.startsWith('tasks/');
}
