import { METHODS } from 'node:http';
import { writeJson } from '../../mcp/answer.ts';
import { type Page, writeText } from '../../page.ts';
import { internalPaths } from '../../paths.ts';

/** What lies below `/mcps/` and is no endpoint. */
export const agentPathPages: readonly Page[] = [
  {
    at: internalPaths['agent-other'],
    methods: METHODS,
    serve: (_, response) =>
      writeJson(response, 404, { error: 'Endpoint not found. Use /mcps/<agent>/mcp for MCP access.' }),
  },
  {
    at: internalPaths['unknown-agent'],
    methods: METHODS,
    serve: (_, response) => writeText(response, 404, 'API Route not found'),
  },
];
