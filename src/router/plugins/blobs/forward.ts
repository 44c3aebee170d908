import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { bindBlob } from '#wire/binding.ts';
import { blobsPath, isBlobId, slotOfBlob } from '#wire/blobs.ts';
import { resourceAt } from '../../auth/metadata/resource.ts';
import type { Caller } from '../../caller.ts';
import { identifyCaller, isDelegated } from '../../delegation.ts';
import type { Exchange } from '../../front.ts';
import { leaveBody } from '../../leave-body.ts';
import { writeJson } from '../../mcp/answer.ts';
import { writeText } from '../../page.ts';
import { factsOf, isFromAgent, sendsBody } from '../../request.ts';
import type { Services } from '../../services.ts';
import { answerHeaders } from '../../upstream/headers.ts';
import { relay } from '../../upstream/relay.ts';
import type { AgentCall } from '../../upstream/send.ts';
import { gatewayStatus } from '../gateway-status.ts';
import { listReplicas, slotsOf } from './list-replicas.ts';
import { createTransfers } from './transfers.ts';

export type ServeBlobs = (exchange: Exchange<'blobs'>) => void | Promise<void>;

/** `<path>/<agent>` and `<path>/<agent>/<id>`: files in and out of the agent's workspace, streamed both ways. */
export function blobsForwarder(services: Services): ServeBlobs {
  const transfers = createTransfers(services);
  return (exchange) => {
    const { request, response, resolution } = exchange;
    const { target, id } = resolution;
    if (id !== '' && !isBlobId(id)) refuse(services, exchange, () => writeText(response, 400, 'Bad id'));
    else if (!(id === '' ? ofAll : ofOne).has(request.method ?? ''))
      refuse(services, exchange, () => writeJson(response, 405, { error: 'method_not_allowed' }));
    else if (isLimited(identifyCaller(request, services)) && !mayLimited(request, id))
      refuse(services, exchange, () => writeJson(response, 403, { error: onlyWithScope }));
    else if (isUnprovenAgent(request) && !mayLimited(request, id))
      refuse(services, exchange, () => writeJson(response, 403, { error: onlyWithId }));
    else if (!transfers.begin(target.identity.uid, response))
      refuse(services, exchange, () => writeJson(response, 503, { error: tooMany }, { 'retry-after': '2' }));
    else return answer(services, exchange);
    return undefined;
  };
}

const ofAll = new Set(['POST', 'GET', 'HEAD']);
const ofOne = new Set(['GET', 'HEAD', 'DELETE']);
const onlyWithId =
  'what runs in a sandbox may give files and take those whose id it knows; more only with the token of a call';
const onlyWithScope =
  'this token or key is limited to scopes without "blobs": it may give files and take those whose id is known';
const tooMany = 'too many files of this agent are on their way; try again in a moment';

/** Something in a sandbox that shows no token. */
function isUnprovenAgent(request: IncomingMessage): boolean {
  return isFromAgent(request) && !isDelegated(request);
}

/** What a token or key is limited to does not grow by way of files. */
function isLimited({ scopes }: Caller): boolean {
  return scopes !== undefined && !scopes.includes('blobs');
}

function mayLimited({ method }: IncomingMessage, id: string): boolean {
  return id === '' ? method === 'POST' : method !== 'DELETE';
}

/** The rest of the body is not read: it may be long. */
function refuse(services: Services, { request, response }: Exchange<'blobs'>, write: () => void): void {
  if (sendsBody(request)) {
    response.setHeader('connection', 'close');
    leaveBody(request, services.clock);
  }
  write();
}

function answer(services: Services, exchange: Exchange<'blobs'>): void | Promise<void> {
  const { request, response, resolution } = exchange;
  const call = callOf(services, exchange);
  const listsMany =
    resolution.id === '' && request.method !== 'POST' && slotsOf(resolution.target).length > 1;
  if (listsMany) return listReplicas(services, resolution.target, call, response);
  relay(services, call, response, {
    headers(headers) {
      const passed = answerHeaders(headers);
      if (sendsBody(request) && !request.complete) {
        passed['connection'] = 'close';
        leaveBody(request, services.clock);
      }
      return passed;
    },
    fail: (error) =>
      refuse(services, exchange, () =>
        writeJson(response, gatewayStatus(error), { error: error.message }, { 'retry-after': '2' }),
      ),
  });
  return undefined;
}

const passed = new Set([
  'content-type',
  'content-length',
  'content-disposition',
  'content-digest',
  'repr-digest',
  'x-mime-type',
  'x-file-name',
  'x-filename',
  'range',
  'if-range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
]);

function callOf(services: Services, { request, resolution }: Exchange<'blobs'>): AgentCall {
  const { target, id } = resolution;
  const { search } = factsOf(request);
  const { method = '' } = request;
  const path = id === '' ? blobsPath : `${blobsPath}/${id}`;
  const slot = id === '' ? undefined : slotOfBlob(id);
  return {
    agent: `${target.namespace}/${target.name}`,
    method,
    path: `${path}${search}`,
    headers: { ...headersFor(request.headers), 'x-ploinky-blobs-url': urlOf(services, request, id) },
    body: sendsBody(request) ? request : undefined,
    binding: bindBlob(method, path, search),
    caller: identifyCaller(request, services),
    // So that files, which may be long on their way, hold no call up.
    lane: 'streams',
    ...(slot !== undefined && { slot }),
  };
}

function headersFor(headers: IncomingHttpHeaders): Record<string, string> {
  const chosen: Record<string, string> = {};
  for (const name of passed) {
    const value = headers[name];
    if (typeof value === 'string') chosen[name] = value;
  }
  return chosen;
}

/** Where the client sees the agent's blobs. */
function urlOf({ auth }: Services, request: IncomingMessage, id: string): string {
  const facts = factsOf(request);
  const own = id === '' ? facts.path : facts.path.slice(0, -id.length);
  return resourceAt(request, auth, facts, own.replace(/\/+$/, '')).url;
}
