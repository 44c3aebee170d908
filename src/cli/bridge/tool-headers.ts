import { isObject } from '#kit/json.ts';
import { paramHeadersOf } from '#mcp/headers.ts';
import type { JsonRpcRequest } from '#mcp/jsonrpc.ts';

/** Remembers which tools want arguments mirrored in headers, from the lists that pass. */
export interface ToolHeaders {
  /** Looks at an answer to tools/list. */
  learn(result: unknown): void;
  /** `Mcp-Param-*` for a call. */
  headersFor(message: JsonRpcRequest): Record<string, string>;
}

const maxTools = 10_000;

export function createToolHeaders(): ToolHeaders {
  const schemas = new Map<string, unknown>();
  return {
    learn(result) {
      const tools = isObject(result) && Array.isArray(result['tools']) ? result['tools'] : [];
      for (const tool of tools.filter(isObject)) {
        const { name, inputSchema } = tool;
        if (typeof name !== 'string') continue;
        // Few tools have such headers; the schemas of the others need not be kept.
        if (!JSON.stringify(inputSchema ?? null).includes('"x-mcp-header"')) schemas.delete(name);
        else if (schemas.size < maxTools) schemas.set(name, inputSchema);
      }
    },
    headersFor({ method, params }) {
      if (method !== 'tools/call') return {};
      const name = params?.['name'];
      const schema = typeof name === 'string' ? schemas.get(name) : undefined;
      return schema === undefined ? {} : paramHeadersOf(schema, params?.['arguments']);
    },
  };
}
