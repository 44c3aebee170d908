import { anonymous, knownCaller } from '../../caller.ts';
import { writeJson } from '../../mcp/answer.ts';
import { type Page, writeNotFound } from '../../page.ts';
import { taskPath } from '../../paths.ts';
import { factsOf, isFromAgent } from '../../request.ts';
import type { Services } from '../../services.ts';
import { relayTask, taskIdOf } from './page.ts';

/**
 * `GET /.ploinky/task?agent=<namespace>/<name>&taskId=`: as the agent's own `task` path, for agents that no Route leads
 * to: those of other namespaces, and those that run one Task alone. Where neither agent nor Routes ask who comes in,
 * the id is the right to it: it is random, and told to its owner and in the status of its Task. Not for what runs inside
 * sandboxes.
 */
export function anyTaskPage(services: Services): Page {
  return {
    at: taskPath,
    methods: ['GET'],
    async serve(request, response) {
      if (isFromAgent(request)) {
        writeNotFound(response);
        return;
      }
      const query = new URLSearchParams(factsOf(request).search);
      const taskId = taskIdOf(query);
      const target = services.tables.current().targets.get(query.get('agent') ?? '');
      if (taskId === undefined) writeJson(response, 400, { error: 'missing taskId' });
      // As an agent says of a task that it does not know: whether there is such an agent is not told.
      else if (target === undefined || target.unavailable !== undefined)
        writeJson(response, 404, { error: 'task not found' });
      else await relayTask(services, { target, taskId, caller: knownCaller(request) ?? anonymous }, response);
    },
  };
}
