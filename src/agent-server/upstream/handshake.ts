import { isObject } from '#kit/json.ts';
import { askableCapabilities } from '#mcp/bridge/capabilities.ts';
import {
  type Era,
  eraOf,
  firstStatelessRevision,
  latestSessionRevision,
  metaKeys,
  sessionRevisions,
  tasksExtension,
} from '#mcp/eras.ts';
import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { LogLevel } from '#mcp/types.ts';
import { AgentServerError } from '../errors.ts';
import type { CallContext } from '../source.ts';
import { clientInfo, type UpstreamInfo } from './connection.ts';

/** What clients with sessions are told that never set a level. */
export const assumedLevel: LogLevel = 'info';

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
  const asked = () => ask('server/discover', withEnvelope({}));
  // A server that refuses the revision and names it in the same breath is asked once more.
  const result = await asked().catch((error: unknown) => {
    if (!offersOurs(error)) throw error;
    return asked();
  });
  return readDiscover(result);
}

/**
 * What every request to a stateless upstream carries. The capabilities are those of the client behind the
 * call: what the upstream then asks goes back to a client of this era as the call's result, and to one with
 * sessions on the call's stream.
 */
export function withEnvelope(params: Params, context?: CallContext): Params {
  const meta = isObject(params['_meta']) ? params['_meta'] : {};
  const logLevel = context?.era === 'sessions' ? (context.logLevel ?? assumedLevel) : context?.logLevel;
  const envelope = {
    [metaKeys.protocolVersion]: firstStatelessRevision,
    [metaKeys.clientCapabilities]: context === undefined ? {} : capabilitiesOf(context),
    [metaKeys.clientInfo]: clientInfo,
    ...(logLevel !== undefined && { [metaKeys.logLevel]: logLevel }),
  };
  return { ...params, _meta: { ...meta, ...envelope } };
}

function capabilitiesOf(context: CallContext): CallContext['capabilities'] {
  const { era, ask, capabilities, awaitsTasks = false } = context;
  if (era === 'stateless') return capabilities;
  const askable = ask === undefined ? {} : askableCapabilities(capabilities);
  return awaitsTasks ? { ...askable, extensions: { [tasksExtension]: {} } } : askable;
}

/** The era in which a server serves a client of `era`: its own, where the server has both. */
export function servedEra(info: UpstreamInfo, era: Era): Era {
  return era === 'stateless' && info.stateless !== undefined ? 'stateless' : eraOf(info.revision);
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

function offersOurs(error: unknown): boolean {
  if (!(error instanceof RpcError) || error.code !== errorCodes.unsupportedVersion) return false;
  const supported = isObject(error.data) ? error.data['supported'] : undefined;
  return Array.isArray(supported) && supported.includes(firstStatelessRevision);
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
