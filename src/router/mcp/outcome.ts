import type { IncomingHttpHeaders } from 'node:http';
import type { JsonRpcRequest, Params } from '#mcp/jsonrpc.ts';
import { type Result, wrapResult } from '#mcp/results.ts';
import type { RenameTask } from '#mcp/tasks/rename.ts';
import type { McpSurface } from '#routing/surface.ts';
import type { Services } from '../services.ts';
import type { AgentCall } from '../upstream/send.ts';
import { callWith, withParams } from './agent-call.ts';
import type { Expose } from './expose-uris.ts';
import type { Speaker } from './inbound.ts';

/** What an aggregate makes of one request. */
export type Outcome =
  /** JSON text of the result. */
  | { readonly kind: 'result'; readonly text: string }
  /** The agent's own answer is the answer. */
  | {
      readonly kind: 'relay';
      readonly call: AgentCall;
      readonly agent: string;
      /** How clients see URIs in it; absent where they stay as they are. */
      readonly expose?: Expose | undefined;
      /** How they are told of tasks in it; absent where it is about none. */
      readonly renameTask?: RenameTask | undefined;
    };

export interface AggregateRequest {
  readonly surface: McpSurface;
  readonly speaker: Speaker;
  readonly headers: IncomingHttpHeaders;
  readonly message: JsonRpcRequest;
  /** The message as it came, when it came alone. */
  readonly text: string | undefined;
}

/** Sends the request on with these params, as it came when they are its own; the rest is for the answer. */
export function relayTo(
  request: AggregateRequest,
  agent: string,
  params: Params,
  expose?: Expose | undefined,
  renameTask?: RenameTask | undefined,
): Outcome {
  const { surface, speaker, message } = request;
  const key = `${surface.namespace}/${agent}`;
  if (params === message.params) {
    return {
      kind: 'relay',
      agent,
      expose,
      renameTask,
      call: callWith(key, message, { speaker, headers: request.headers, text: request.text }),
    };
  }
  const { agent: _named, ...rest } = params;
  const changed = withParams(message, rest, request.headers);
  return {
    kind: 'relay',
    agent,
    expose,
    renameTask,
    call: callWith(key, changed.message, { speaker, headers: changed.headers }),
  };
}

/** The router's own result, in the form of the client's revision. */
export function ownAnswer(
  services: Services,
  { speaker, message }: AggregateRequest,
  result: Result,
): Outcome {
  const wrapped = wrapResult(speaker.era, message.method, result, serverInfo(services));
  return { kind: 'result', text: JSON.stringify(wrapped) };
}

export function serverInfo(services: Services): { name: string; version: string } {
  return { name: 'ploinky-router', version: services.version };
}
