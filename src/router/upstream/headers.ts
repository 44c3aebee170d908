import type { IncomingHttpHeaders } from 'node:http';
import { loginOriginHeader } from '#wire/upstream-login.ts';
import type { AnswerHeaders } from './send.ts';

/** Request headers that an MCP call takes along; everything else stays behind. */
const mcpPassed = new Set([
  'accept',
  'accept-language',
  'content-type',
  'last-event-id',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'traceparent',
  'tracestate',
  'baggage',
  'user-agent',
  loginOriginHeader,
]);

export function mcpRequestHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (typeof value === 'string' && (mcpPassed.has(name) || name.startsWith('mcp-param-')))
      passed[name] = value;
  }
  passed['accept'] ??= 'application/json, text/event-stream';
  if (passed['accept'] === '*/*') passed['accept'] = 'application/json, text/event-stream';
  return passed;
}

/** Hop by hop (RFC 9110 §7.6.1), never forwarded either way. */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-authentication-info',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'http2-settings',
]);

/** Names by which programs behind a proxy learn who calls; only the router's own token may say that. */
const identity =
  /^(?:authorization|cookie|forwarded|via|host|x-forwarded-.*|x-real-ip|x-client-.*|x-original-.*|x-rewrite-url|x-user.*|x-auth.*|x-remote-.*|x-ploinky-.*|remote-.*|true-client-ip|cf-connecting-ip|x-envoy-.*|x-webauth-.*|x-ms-client-principal.*|x-goog-authenticated-user.*|x-amzn-oidc-.*|ssl-client-.*|x-ssl-.*|mcp-session-id)$/;

/** Request headers for the agent's own HTTP server. Its cookies are not forwarded: all agents share one origin. */
export function apiRequestHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const named = connectionNamed(headers.connection);
  const passed: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || hopByHop.has(name) || named.has(name) || identity.test(name)) continue;
    passed[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return passed;
}

function connectionNamed(connection: string | undefined): ReadonlySet<string> {
  return new Set((connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
}

/** Headers of an agent's answer that may reach a client: no cookies on the shared origin, none hop by hop. */
export function answerHeaders(headers: AnswerHeaders): Record<string, string | string[]> {
  const passed: Record<string, string | string[]> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || hopByHop.has(name) || refusedAnswers.has(name)) continue;
    passed[name] = value;
  }
  return passed;
}

const refusedAnswers = new Set([
  'set-cookie',
  'set-cookie2',
  'clear-site-data',
  'strict-transport-security',
  'mcp-session-id',
  'server',
  'x-powered-by',
  'service-worker-allowed',
  'alt-svc',
]);
