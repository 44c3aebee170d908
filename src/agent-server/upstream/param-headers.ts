import { isObject } from '#kit/json.ts';
import { paramHeadersOf } from '#mcp/headers.ts';
import type { JsonRpcRequest, Params } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';

/** `Mcp-Param-*` headers for calls to a server of 2026-07-28, also for clients that know nothing of them. */
export interface ParamHeaders {
  /** Takes in one page of the server's tools. */
  learn(params: Params, result: Result): void;
  of(message: JsonRpcRequest): Record<string, string>;
}

export function createParamHeaders(): ParamHeaders {
  const schemas = new Map<string, unknown>();
  return {
    learn(params, { tools }) {
      if (params['cursor'] === undefined) schemas.clear();
      for (const tool of Array.isArray(tools) ? tools : []) {
        if (!isObject(tool) || typeof tool['name'] !== 'string') continue;
        const { name, inputSchema } = tool;
        if (JSON.stringify(inputSchema ?? null).includes('"x-mcp-header"')) schemas.set(name, inputSchema);
      }
    },
    of({ method, params }) {
      if (schemas.size === 0 || method !== 'tools/call') return {};
      const schema = schemas.get(String(params?.['name']));
      return schema === undefined ? {} : paramHeadersOf(schema, params?.['arguments']);
    },
  };
}
