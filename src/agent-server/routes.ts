import type { AgentServerConfig } from '#api/agent-server-config.ts';
import { isObject } from '#kit/json.ts';
import { blobsPath } from '#wire/blobs.ts';
import { proofPath } from '#wire/challenge.ts';
import { handOverPath } from '#wire/hand-over.ts';
import { queuePath } from '#wire/queue-state.ts';
import { cancelTaskPath, tasksPath } from '#wire/tasks.ts';
import { upstreamLoginPath } from '#wire/upstream-login.ts';
import { drainedPath } from './activity.ts';
import { blobsHandler } from './blobs/handler.ts';
import type { Blobs } from './blobs/service.ts';
import type { HeldKeys } from './held-keys.ts';
import { apiProxy } from './http/api-proxy.ts';
import type { Routes } from './http/app.ts';
import type { Changes } from './http/changes.ts';
import { queueStateHandler } from './http/queue-state.ts';
import { staticFiles } from './http/static-files.ts';
import {
  drainedHandler,
  handOverHandler,
  proofHandler,
  readyHandler,
  serveHealth,
  taskStatusHandler,
} from './http/surfaces.ts';
import { cancelTaskHandler, tasksHandler } from './http/tasks.ts';
import { upstreamLoginHandler } from './http/upstream-login.ts';
import { serveMcp } from './mcp/endpoint.ts';
import type { McpServices } from './mcp/services.ts';
import type { TaskService } from './tasks/service.ts';
import type { Logins } from './upstream/remote/people/logins.ts';
import type { HeldSecrets } from './upstream/remote/secrets.ts';

export interface Surfaces {
  readonly config: AgentServerConfig;
  readonly services: McpServices;
  readonly tasks: TaskService;
  readonly changes: Changes;
  readonly keys: HeldKeys;
  readonly status: () => { readonly ready: boolean; readonly reason: string };
  readonly quiet: () => Promise<void>;
  readonly useSecrets: HeldSecrets['use'];
  readonly logins: Logins | undefined;
  readonly blobs: Blobs;
}

/** What the agent-server answers, and where. */
export function routesOf(surfaces: Surfaces): Routes {
  const { config, services, tasks, changes, keys, status, quiet, useSecrets, blobs } = surfaces;
  const { guard } = services;
  const serveBlobs = blobsHandler({ ...blobs, guard });
  return {
    exact: new Map([
      ['/mcp', (request, response) => serveMcp(request, response, services)],
      ['/health', serveHealth],
      ['/ready', readyHandler(status)],
      [drainedPath, drainedHandler(quiet)],
      ['/getTaskStatus', taskStatusHandler(tasks, services.guard)],
      [queuePath, queueStateHandler(tasks, services.guard, services.clock)],
      [proofPath, proofHandler(keys.current, config.agent.instance)],
      [tasksPath, tasksHandler(tasks, services.guard)],
      [cancelTaskPath, cancelTaskHandler(tasks, services.guard)],
      ['/changes', changes.handler],
      [handOverPath, handOverHandler(services.guard, useSecrets)],
      [upstreamLoginPath, upstreamLoginHandler(services.guard, surfaces.logins)],
      [blobsPath, serveBlobs],
    ]),
    prefixes: [
      [`${blobsPath}/`, serveBlobs],
      ['/api/', apiProxy({ guard: services.guard, port: apiPort(config) })],
      ['/static/', staticFiles({ guard: services.guard, folder: config.paths.code })],
    ],
  };
}

/** Where the agent's own HTTP server listens: its upstream's port, else `PORT` of its environment. */
function apiPort({ mcp, env }: AgentServerConfig): number | undefined {
  const upstream = mcp?.['upstream'];
  const named = isObject(upstream) ? upstream['port'] : undefined;
  const port = Number(named ?? env['PORT']);
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}
