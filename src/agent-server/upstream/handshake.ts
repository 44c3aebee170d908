import { isObject } from '#kit/json.ts';
import {
  eraOf,
  firstStatelessRevision,
  latestSessionRevision,
  metaKeys,
  sessionRevisions,
} from '#mcp/eras.ts';
import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { AgentServerError } from '../errors.ts';
import type { CallContext } from '../source.ts';
import { clientInfo, type UpstreamInfo } from './connection.ts';

type Ask = (method: string, params: Params) => Promise<Result>;

/**
 * `initialize`, and for a server that does not know it, `server/discover`. `onInitialized` sends the
 * notification that ends the handshake of the sessions era; `capabilities` is what the server may ask for in it.
 */
export async function shakeHands(
  ask: Ask,
  onInitialized: () => void | Promise<void>,
  capabilities: Readonly<Record<string, unknown>> = {},
): Promise<UpstreamInfo> {
  try {
    const result = await ask('initialize', {
      protocolVersion: latestSessionRevision,
      capabilities,
      clientInfo,
    });
    const info = readInitialize(result);
    await onInitialized();
    return info;
  } catch (error) {
    if (!speaksOnlyStateless(error)) throw error;
    return discover(ask);
  }
}

/** What a server says to clients of 2026-07-28. Rejects when it serves none. */
export async function discover(ask: Ask): Promise<UpstreamInfo> {
  return readDiscover(await ask('server/discover', withEnvelope({})));
}

/**
 * What every request to a stateless upstream carries. The capabilities are those of the client behind the
 * call, if it is of this era: what the upstream then asks goes back to it as the call's result.
 */
export function withEnvelope(params: Params, context?: CallContext): Params {
  const meta = isObject(params['_meta']) ? params['_meta'] : {};
  const envelope = {
    [metaKeys.protocolVersion]: firstStatelessRevision,
    [metaKeys.clientCapabilities]: context?.era === 'stateless' ? context.capabilities : {},
    [metaKeys.clientInfo]: clientInfo,
    ...(context?.logLevel !== undefined && { [metaKeys.logLevel]: context.logLevel }),
  };
  return { ...params, _meta: { ...meta, ...envelope } };
}

export function isStateless(info: UpstreamInfo): boolean {
  return eraOf(info.revision) === 'stateless';
}

function readInitialize(result: Result): UpstreamInfo {
  const revision = result['protocolVersion'];
  const known =
    typeof revision === 'string' && (sessionRevisions.includes(revision) || revision === '2024-11-05');
  if (!known) {
    throw new AgentServerError(
      'UpstreamInvalid',
      `The MCP server speaks revision ${String(revision)}, which is not known`,
    );
  }
  return { revision, ...readCommon(result) };
}

function readDiscover(result: Result): UpstreamInfo {
  const versions = result['supportedVersions'];
  if (!Array.isArray(versions) || !versions.includes(firstStatelessRevision)) {
    throw new AgentServerError(
      'UpstreamInvalid',
      `The MCP server does not speak revision ${firstStatelessRevision}`,
    );
  }
  return { revision: firstStatelessRevision, ...readCommon(result) };
}

function readCommon(result: Result): Pick<UpstreamInfo, 'capabilities' | 'instructions'> {
  const { capabilities, instructions } = result;
  return {
    capabilities: isObject(capabilities) ? capabilities : {},
    instructions: typeof instructions === 'string' ? instructions : undefined,
  };
}

function speaksOnlyStateless(error: unknown): boolean {
  if (!(error instanceof RpcError)) return false;
  const codes: number[] = [
    errorCodes.unsupportedVersion,
    errorCodes.methodNotFound,
    errorCodes.invalidParams,
    errorCodes.headerMismatch,
  ];
  return codes.includes(error.code);
}
