import type { HeaderValues } from '#mcp/headers.ts';
import type { CallContext } from '../source.ts';

/**
 * What a tool reads on stdin, as one line (Ploinky contract, §3). `invocation` and `authInfo` say the same
 * for agents of two generations. `inputResponses` and `requestState` are there when a client answers the
 * questions of an earlier run.
 */
export function toolEnvelope(
  tool: string,
  input: Record<string, unknown>,
  call: CallContext,
  extra: { readonly taskId?: string; readonly inputResponses?: unknown; readonly requestState?: unknown },
): string {
  const { taskId, inputResponses, requestState } = extra;
  const metadata = {
    signal: {},
    ...(call.session !== undefined && { sessionId: call.session }),
    requestId: call.requestId,
    requestInfo: { headers: withoutSecrets(call.headers) },
    ...identityOf(call),
    ...(inputResponses !== undefined && { inputResponses }),
    ...(requestState !== undefined && { requestState }),
  };
  return `${JSON.stringify({ tool, input, metadata, ...(taskId !== undefined && { taskId }) })}\n`;
}

/** What a resource's command reads; `params` only for a template. */
export function resourceEnvelope(resource: string, uri: string, params?: Record<string, string>): string {
  return `${JSON.stringify({ resource, uri, ...(params !== undefined && { params }) })}\n`;
}

function identityOf({ claims, token, session }: CallContext): Record<string, unknown> {
  if (claims === undefined) return {};
  const user = claims.usr;
  return {
    invocation: claims,
    ...(token !== undefined && { invocationToken: token }),
    authInfo: {
      ...(user !== null && {
        user: { id: user.id, username: user.username, email: user.email, roles: user.roles },
      }),
      ...(session !== undefined && { sessionId: session }),
      ...(token !== undefined && { invocationToken: token }),
    },
  };
}

const secretHeader =
  /^(authorization|proxy-authorization|cookie|set-cookie)$|token|secret|api-?key|password|jwt/i;

function withoutSecrets(headers: HeaderValues): HeaderValues {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !secretHeader.test(name)));
}
