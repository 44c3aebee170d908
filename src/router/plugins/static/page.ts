import type { IncomingMessage, ServerResponse } from 'node:http';
import { bindStatic } from '#wire/binding.ts';
import { identifyCaller } from '../../delegation.ts';
import { writeJson } from '../../mcp/answer.ts';
import type { Page } from '../../page.ts';
import { internalPaths } from '../../paths.ts';
import { factsOf } from '../../request.ts';
import { safeFilePath } from '../../safe-path.ts';
import type { Services } from '../../services.ts';
import { keepGuarded } from '../../upstream/guarded-answer.ts';
import { answerHeaders, apiRequestHeaders } from '../../upstream/headers.ts';
import { relay } from '../../upstream/relay.ts';
import type { AnswerHeaders } from '../../upstream/send.ts';
import { gatewayStatus } from '../gateway-status.ts';
import { cacheControlOf } from './cache-control.ts';

/** `/<agent>/<file>` and the static root: files of the agents' code folders, fetched from the agent-servers. */
export function staticPage(services: Services): Page {
  return {
    at: internalPaths.static,
    methods: ['GET', 'HEAD'],
    serve: (request, response) => serveFile(services, request, response),
  };
}

function serveFile(services: Services, request: IncomingMessage, response: ServerResponse): void {
  const { resolution, path, search } = factsOf(request);
  if (resolution.kind !== 'static') throw new Error('no static files');
  const { target, surface } = resolution;
  const prefix = surface.place.path === '/' ? '' : surface.place.path;
  if (resolution.rest === '/' && surface.root === target.name && path.length <= prefix.length + 1) {
    redirect(response, `${prefix}/${target.name}/index.html${search}`);
    return;
  }
  if (resolution.rest === '/' && !path.endsWith('/')) {
    redirect(response, `${path}/${search}`);
    return;
  }
  const rest = resolution.rest.endsWith('/') ? `${resolution.rest}index.html` : resolution.rest;
  const file = safeFilePath(rest);
  if (file === undefined) {
    notFound(response);
    return;
  }
  const asked = `/static/${file}`;
  const call = {
    agent: `${target.namespace}/${target.name}`,
    method: request.method ?? '',
    path: asked,
    headers: fileHeaders(apiRequestHeaders(request.headers)),
    binding: bindStatic(asked),
    caller: identifyCaller(request, services),
    readyWaitMs: 15_000,
  };
  relay(services, call, response, {
    headers: (headers) => keepGuarded(request, fileAnswerHeaders(headers, file)),
    fail: (error) =>
      writeJson(response, gatewayStatus(error), { error: error.message }, { 'retry-after': '2' }),
  });
}

const passed = ['accept', 'accept-encoding', 'if-none-match', 'if-modified-since', 'range', 'if-range'];

function fileHeaders(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => passed.includes(name)));
}

function fileAnswerHeaders(headers: AnswerHeaders, file: string): Record<string, string | string[]> {
  return {
    'cache-control': cacheControlOf(file),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    ...answerHeaders(headers),
  };
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(302, { location, 'cache-control': 'no-store', 'content-length': 0 }).end();
}

function notFound(response: ServerResponse): void {
  response.writeHead(404, { 'content-type': 'text/plain', 'content-length': 9 }).end('Not Found');
}
