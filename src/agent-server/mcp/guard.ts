import type { IncomingMessage } from 'node:http';
import type { JsonRpcMessage } from '#mcp/jsonrpc.ts';
import { isResponse } from '#mcp/jsonrpc.ts';
import { bindMessage, type CallBinding } from '#wire/binding.ts';
import type { InvocationClaims } from '#wire/claims.ts';
import type { Verifier } from '#wire/token.ts';

/** Who calls, as far as it was proved. */
export interface Caller {
  readonly claims: InvocationClaims | undefined;
  readonly token: string | undefined;
}

export interface Guard {
  /**
   * Verifies the token of a JSON-RPC message. What only looks (initialize, lists, ping) may come without
   * one from a client that reaches the agent-server directly; a token that comes is always verified.
   * Throws InvocationRejected.
   */
  admitMessage(request: IncomingMessage, message: JsonRpcMessage): Caller;
  /** Verifies the token of another request. `open`: it may come without one. Throws InvocationRejected. */
  admit(request: IncomingMessage, call: CallBinding, open?: boolean): Caller;
  /** No tokens are asked for at all (development). */
  readonly open: boolean;
}

const anonymous: Caller = { claims: undefined, token: undefined };

const openMethods: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'prompts/list',
  'server/discover',
  'logging/setLevel',
  'subscriptions/listen',
]);

/** `verifier` undefined: every call is admitted, which only development asks for. */
export function createGuard(verifier: Verifier | undefined): Guard {
  function admit(request: IncomingMessage, call: CallBinding | (() => CallBinding), open: boolean): Caller {
    const token = bearerOf(request);
    if (verifier === undefined || (open && token === undefined)) return anonymous;
    const claims = verifier.verify(token, typeof call === 'function' ? call() : call);
    return { claims, token };
  }
  return {
    open: verifier === undefined,
    admit: (request, call, open = false) => admit(request, call, open),
    admitMessage(request, message) {
      const open = isResponse(message) || !('id' in message) || openMethods.has(message.method);
      return admit(request, () => bindMessage(message), open);
    },
  };
}

function bearerOf(request: IncomingMessage): string | undefined {
  const header = request.headers.authorization;
  return header !== undefined && /^bearer /i.test(header) ? header.slice(7).trim() : undefined;
}
