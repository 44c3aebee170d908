import type { Era } from '../eras.ts';
import { errorCodes, RpcError } from '../jsonrpc.ts';

/**
 * An upstream's error in the terms of the client's era, for an upstream of the other one: what is not found has
 * another code in each, and -32021 and -32042 exist in one only. Errors of a tool itself are no errors here.
 */
export function errorForEra(era: Era, method: string, error: RpcError): RpcError {
  return era === 'sessions' ? forSessions(method, error) : forStateless(method, error);
}

function forSessions(method: string, error: RpcError): RpcError {
  if (error.code === errorCodes.missingCapability) return withCode(errorCodes.internal, error);
  const notFound = method === 'resources/read' && error.code === errorCodes.invalidParams;
  return notFound ? withCode(errorCodes.resourceNotFound, error) : error;
}

function forStateless(method: string, error: RpcError): RpcError {
  if (error.code === errorCodes.resourceNotFound && method === 'resources/read') {
    return withCode(errorCodes.invalidParams, error);
  }
  if (error.code !== errorCodes.urlElicitationRequired) return error;
  return new RpcError(errorCodes.missingCapability, error.message, {
    requiredCapabilities: { elicitation: { url: {} } },
  });
}

function withCode(code: number, { message, data }: RpcError): RpcError {
  return new RpcError(code, message, data);
}
