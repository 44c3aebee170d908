import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Target } from '#routing/target.ts';
import { bindTaskStatus } from '#wire/binding.ts';
import type { Caller } from '../../caller.ts';
import { identifyCaller } from '../../delegation.ts';
import type { RouterError } from '../../errors.ts';
import { writeJson, writeJsonText } from '../../mcp/answer.ts';
import type { Page } from '../../page.ts';
import { internalPaths } from '../../paths.ts';
import { factsOf } from '../../request.ts';
import type { Services } from '../../services.ts';
import { collect } from '../../upstream/collect.ts';
import { answerHeaders } from '../../upstream/headers.ts';
import { relay } from '../../upstream/relay.ts';
import type { AgentCall, AnswerHeaders } from '../../upstream/send.ts';
import { gatewayStatus } from '../gateway-status.ts';

/** `GET /mcps/<agent>/task?taskId=`: how a queued call is doing (Ploinky contract, §4). */
export function taskPage(services: Services): Page {
  return {
    at: internalPaths['agent-task'],
    methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'],
    async serve(request, response) {
      if (request.method === 'GET') await askTask(services, request, response);
      else writeJson(response, 405, { error: 'method_not_allowed' }, { allow: 'GET' });
    },
  };
}

async function askTask(
  services: Services,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { resolution, search } = factsOf(request);
  if (resolution.kind !== 'agent-task') throw new Error('no agent');
  const taskId = taskIdOf(new URLSearchParams(search));
  if (taskId === undefined) writeJson(response, 400, { error: 'missing taskId' });
  else
    await relayTask(
      services,
      { target: resolution.target, taskId, caller: identifyCaller(request, services) },
      response,
    );
}

/** Undefined: there is none that could be one. */
export function taskIdOf(query: URLSearchParams): string | undefined {
  const taskId = query.get('taskId') ?? '';
  return taskId === '' || taskId.length > 256 ? undefined : taskId;
}

export interface AskedTask {
  readonly target: Target;
  readonly taskId: string;
  readonly caller: Caller;
}

/** Answers with what the agent says of its task. */
export function relayTask(
  services: Services,
  { target, taskId, caller }: AskedTask,
  response: ServerResponse,
): Promise<void> {
  const call = {
    agent: `${target.namespace}/${target.name}`,
    method: 'GET',
    path: `/getTaskStatus?taskId=${encodeURIComponent(taskId)}`,
    headers: { accept: 'application/json' },
    binding: bindTaskStatus(taskId),
    caller,
  };
  return askInstances(services, target, call, response);
}

/** A task is known where it was queued: of several instances each is asked until one knows it. */
async function askInstances(
  services: Services,
  target: Target,
  call: AgentCall,
  client: ServerResponse,
): Promise<void> {
  const options = {
    headers: (headers: AnswerHeaders) => ({ 'cache-control': 'no-store', ...answerHeaders(headers) }),
    fail: (error: RouterError) => writeJson(client, gatewayStatus(error), { error: error.message }),
  };
  const instances = target.ready.map(({ uid }) => uid);
  const last = instances.length < 2 ? undefined : instances.pop();
  for (const instance of last === undefined ? [] : instances) {
    const pinned = { ...call, instance, readyWaitMs: 0 };
    const answer = await collect(services.sender, pinned, { maxBytes: services.limits.answerBytes }).catch(
      () => undefined,
    );
    if (answer?.status !== 200) continue;
    writeJsonText(client, 200, answer.text, { 'cache-control': 'no-store' });
    return;
  }
  relay(services, last === undefined ? call : { ...call, instance: last }, client, options);
}
