import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Page, writeText } from '../../page.ts';

/** `/MCPBrowserClient.js`: the module that agents' pages import to call tools. */
export function browserClientPage(): Page {
  const module = readFileSync(join(import.meta.dirname, 'mcp-browser-client.js'), 'utf8');
  return {
    at: '/MCPBrowserClient.js',
    methods: ['GET', 'HEAD'],
    serve: (_, response) =>
      writeText(response, 200, module, {
        'content-type': 'text/javascript; charset=utf-8',
        'cache-control': 'public, max-age=300',
        'x-content-type-options': 'nosniff',
      }),
  };
}
