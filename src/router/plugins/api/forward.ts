import type { IncomingMessage } from 'node:http';
import { bindHttpService } from '#wire/binding.ts';
import { identifyCaller } from '../../delegation.ts';
import type { Exchange } from '../../front.ts';
import { writeJson } from '../../mcp/answer.ts';
import { factsOf, sendsBody } from '../../request.ts';
import { hasDotSegment } from '../../safe-path.ts';
import type { Services } from '../../services.ts';
import { keepGuarded } from '../../upstream/guarded-answer.ts';
import { answerHeaders, apiRequestHeaders } from '../../upstream/headers.ts';
import { relay } from '../../upstream/relay.ts';
import { gatewayStatus } from '../gateway-status.ts';

/** `/apis/<agent>/<rest>` → `/api/<rest>` of the agent's own HTTP server; both bodies are streamed. */
export function forward(services: Services, { request, response, resolution }: Exchange<'api'>): void {
  const { target, rest } = resolution;
  if (hasDotSegment(rest)) {
    writeJson(response, 400, {
      error: 'the path has "." or ".." segments or characters that paths may not have',
    });
    return;
  }
  const { search } = factsOf(request);
  const { method = '' } = request;
  const path = `/api${rest}`;
  if (sendsBody(request)) endLate(services, request);
  const call = {
    agent: `${target.namespace}/${target.name}`,
    method,
    path: `${path}${search}`,
    headers: apiRequestHeaders(request.headers),
    body: sendsBody(request) ? request : undefined,
    binding: bindHttpService(method, path, search),
    caller: identifyCaller(request, services),
  };
  relay(services, call, response, {
    headers(headers) {
      const passed = keepGuarded(request, answerHeaders(headers));
      passed['x-content-type-options'] ??= 'nosniff';
      return passed;
    },
    fail: (error) => writeJson(response, gatewayStatus(error), { error: error.message }),
  });
}

/** A body that takes too long ends with its connection. */
function endLate({ clock, limits }: Services, request: IncomingMessage): void {
  const cancel = clock.after(limits.requestTimeoutMs, () => request.complete || request.destroy());
  request.once('end', cancel).once('close', cancel);
}
