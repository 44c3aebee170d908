import type { FastifyInstance } from 'fastify';
import { bindTaskStatus } from '#wire/binding.ts';
import { identifyCaller } from '../../delegation.ts';
import { writeJson } from '../../mcp/answer.ts';
import { internalPaths } from '../../paths.ts';
import { answerWith } from '../../reply.ts';
import { factsOf } from '../../request.ts';
import type { Services } from '../../services.ts';
import { answerHeaders } from '../../upstream/headers.ts';
import { relay } from '../../upstream/relay.ts';
import { gatewayStatus } from '../gateway-status.ts';

/** `GET /mcps/<agent>/task?taskId=`: how a queued call is doing (Ploinky contract, §4). */
export async function taskPlugin(app: FastifyInstance, { services }: { services: Services }): Promise<void> {
  app.get(internalPaths['agent-task'], async (request, reply) =>
    answerWith(request, reply, () => {
      const { resolution, search } = factsOf(request.raw);
      if (resolution.kind !== 'agent-task') throw new Error('no agent');
      const taskId = new URLSearchParams(search).get('taskId') ?? '';
      if (taskId === '' || taskId.length > 256) {
        writeJson(reply.raw, 400, { error: 'missing taskId' });
        return;
      }
      const call = {
        agent: `${resolution.target.namespace}/${resolution.target.name}`,
        method: 'GET',
        path: `/getTaskStatus?taskId=${encodeURIComponent(taskId)}`,
        headers: { accept: 'application/json' },
        binding: bindTaskStatus(taskId),
        caller: identifyCaller(request.raw, services),
      };
      relay(services.sender, call, reply.raw, {
        headers: (headers) => ({ 'cache-control': 'no-store', ...answerHeaders(headers) }),
        fail: (error) => writeJson(reply.raw, gatewayStatus(error), { error: error.message }),
      });
    }),
  );
  app.route({
    method: ['POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'],
    url: internalPaths['agent-task'],
    handler: async (_, reply) => reply.code(405).header('allow', 'GET').send({ error: 'method_not_allowed' }),
  });
}
