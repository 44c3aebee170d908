import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';

/** Fields that belong to one connection (RFC 9110, section 7.6.1) or to this proxy. */
const ownFields = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'proxy-authenticate',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
]);

/** What goes on to the server: the credential and hop-by-hop fields, also those `connection` names, do not. */
export function forwardedRequestHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return without(headers, ownFields);
}

export function forwardedResponseHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return without(headers, ownFields);
}

function without(headers: IncomingHttpHeaders, fields: ReadonlySet<string>): OutgoingHttpHeaders {
  const named = new Set((headers.connection ?? '').toLowerCase().split(/\s*,\s*/));
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !fields.has(name) && !named.has(name)),
  );
}
