import type { RouterError } from '../errors.ts';

/** HTTP status for an agent that gave no answer, where answers are no JSON-RPC. */
export function gatewayStatus(error: RouterError): number {
  if (error.code === 'RequestInvalid') return 400;
  if (error.code === 'AgentUnavailable' || error.code === 'NoKeys') return 503;
  return error.code === 'AgentTimeout' ? 504 : 502;
}
