import { bindTaskStatus } from '#wire/binding.ts';
import { answerChallenge, isNonce } from '#wire/challenge.ts';
import type { WireKey } from '#wire/keys.ts';
import type { Guard } from '../mcp/guard.ts';
import type { TaskQueue } from '../queue/queue.ts';
import { allowOnly, type Handler, sendObject } from './app.ts';

/** GET /health: that the process serves; says nothing of tools. */
export const serveHealth: Handler = (_request, response) => {
  sendObject(response, 200, { ok: true, server: 'ploinky-agent-mcp' });
};

/** GET /.well-known/ploinky-proof?nonce=: proves that this end holds the agent's key. Needs no token. */
export function proofHandler(key: WireKey, instance: string): Handler {
  return (request, response, { search }) => {
    if (!allowOnly(request, response, 'GET')) return;
    const nonce = new URLSearchParams(search).get('nonce');
    if (isNonce(nonce)) sendObject(response, 200, answerChallenge(key, instance, nonce));
    else sendObject(response, 400, { error: 'nonce must be 32 bytes in base64url' });
  };
}

/** GET /getTaskStatus?taskId= (Ploinky contract, §4). */
export function taskStatusHandler(queue: TaskQueue, guard: Guard): Handler {
  return async (request, response, { search }) => {
    if (!allowOnly(request, response, 'GET')) return;
    const taskId = new URLSearchParams(search).get('taskId') ?? '';
    if (taskId === '') {
      sendObject(response, 400, { error: 'missing taskId' });
      return;
    }
    guard.admit(request, bindTaskStatus(taskId));
    const task = await queue.get(taskId);
    if (task === undefined) sendObject(response, 404, { error: 'task not found' });
    else {
      const { id, toolName, status, createdAt, updatedAt, error, result, logTail, logSeq, logTruncated } =
        task;
      const shown = {
        id,
        toolName,
        status,
        createdAt,
        updatedAt,
        error,
        result,
        logTail,
        logSeq,
        logTruncated,
      };
      sendObject(response, 200, { task: shown });
    }
  };
}
