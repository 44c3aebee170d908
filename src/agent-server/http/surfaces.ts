import { agentServerConfigSchema, type UpstreamSecrets } from '#api/agent-server-config.ts';
import { bindHandOver, bindTaskStatus } from '#wire/binding.ts';
import { answerChallenge, isNonce, keyForChallenge } from '#wire/challenge.ts';
import type { WireKey } from '#wire/keys.ts';
import type { Guard } from '../mcp/guard.ts';
import { contractTask } from '../tasks/contract-fields.ts';
import { payloadOf } from '../tasks/payload.ts';
import type { TaskService } from '../tasks/service.ts';
import { allowOnly, type Handler, sendObject } from './app.ts';
import { readBody } from './body.ts';

/** GET /health: that the process serves; says nothing of tools. */
export const serveHealth: Handler = (_request, response) => {
  sendObject(response, 200, { ok: true, server: 'ploinky-agent-mcp' });
};

/**
 * GET /ready: whether it should get calls: 200 when its tools are known and their upstream answers, else 503. Says no
 * more than the reason's constant, because it asks for no token.
 */
export function readyHandler(status: () => { readonly ready: boolean; readonly reason: string }): Handler {
  return (_request, response) => {
    const { ready, reason } = status();
    sendObject(response, ready ? 200 : 503, { ready, reason });
  };
}

/**
 * GET /drained: answers when no call has run for a while, or the time for calls is over. Changes nothing, and so needs
 * no token: a kubelet asks it before it ends the program that answers the calls.
 */
export function drainedHandler(quiet: () => Promise<void>): Handler {
  return async (request, response) => {
    if (!allowOnly(request, response, 'GET')) return;
    await quiet();
    sendObject(response, 200, { drained: true });
  };
}

/** GET /.well-known/ploinky-proof?nonce=&kids=: proves that this end holds the agent's key. Needs no token. */
export function proofHandler(keys: () => readonly WireKey[], instance: string): Handler {
  return (request, response, { search }) => {
    if (!allowOnly(request, response, 'GET')) return;
    const query = new URLSearchParams(search);
    const nonce = query.get('nonce');
    const key = keyForChallenge(keys(), query.get('kids'));
    if (isNonce(nonce) && key !== undefined) sendObject(response, 200, answerChallenge(key, instance, nonce));
    else sendObject(response, 400, { error: 'nonce must be 32 bytes in base64url' });
  };
}

/** Bytes of secrets; a Secret of Kubernetes has no more. */
const mostSecrets = 1024 * 1024;

/** POST /upstream-secrets: the controller gives what a remote upstream is asked with from now on. */
export function handOverHandler(guard: Guard, use: (secrets: UpstreamSecrets) => void): Handler {
  return async (request, response) => {
    if (!allowOnly(request, response, 'POST')) return;
    const secrets = parseSecrets(await readBody(request, mostSecrets));
    if (secrets === undefined) {
      sendObject(response, 400, { error: 'the body is no configuration of an upstream' });
      return;
    }
    const { claims } = guard.admit(request, bindHandOver(secrets));
    if (!guard.open && claims?.caller !== 'controller:first-party') {
      sendObject(response, 403, { error: 'only the controller gives secrets' });
      return;
    }
    use(secrets);
    response.writeHead(204).end();
  };
}

function parseSecrets(text: string): UpstreamSecrets | undefined {
  try {
    return agentServerConfigSchema.shape.upstream.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/**
 * GET /getTaskStatus?taskId= (Ploinky contract, §4). The id is the right to look, and so not that of a task whose client
 * was told an id of MCP: it stands in that one in the clear, which is good for its owner alone.
 */
export function taskStatusHandler(tasks: Pick<TaskService, 'get'>, guard: Guard): Handler {
  return async (request, response, { search }) => {
    if (!allowOnly(request, response, 'GET')) return;
    const taskId = new URLSearchParams(search).get('taskId') ?? '';
    if (taskId === '') {
      sendObject(response, 400, { error: 'missing taskId' });
      return;
    }
    guard.admit(request, bindTaskStatus(taskId));
    const task = await tasks.get(taskId);
    if (task === undefined || payloadOf(task).told === 'mcp')
      sendObject(response, 404, { error: 'task not found' });
    else sendObject(response, 200, { task: contractTask(task) });
  };
}
