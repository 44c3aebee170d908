import type { ServerResponse } from 'node:http';
import { answers } from './hostile-answers.ts';

// What a hostile agent lists, by its mode. Undefined: it was answered already, or never will be.

type Id = string | number;
export type Lister = (
  method: string,
  params: Record<string, unknown>,
  response: ServerResponse,
  id: Id,
) => object | string | undefined;

const levels = 1_000_000;
const mebibyte = 1024 * 1024;
const tools = Object.keys(answers).map((name) => ({ name, inputSchema: { type: 'object' } }));
const subscribable = { tools: {}, resources: { subscribe: true }, prompts: {} };

/** Everything as an honest agent would have it. */
function honest(method: string, params: Record<string, unknown>): object {
  switch (method) {
    case 'tools/list':
      return { tools };
    case 'resources/list':
      return { resources: [{ uri: 'doc://one', name: 'one' }] };
    case 'resources/templates/list':
      return { resourceTemplates: [] };
    case 'prompts/list':
      return { prompts: [] };
    default:
      return {
        protocolVersion: params['protocolVersion'] ?? '2025-11-25',
        supportedVersions: ['2026-07-28'],
        capabilities: subscribable,
        serverInfo: { name: 'hostile', version: '1' },
      };
  }
}

/** One method is answered otherwise. */
function except(method: string, answer: Lister): Lister {
  return (asked, params, response, id) =>
    asked === method ? answer(asked, params, response, id) : honest(asked, params);
}

/** JSON text of a result that no honest serialiser would make. */
function raw(result: string): Lister {
  return (_method, _params, _response, id) =>
    `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
}

const deep = `${'{"properties":'.repeat(levels)}1${'}'.repeat(levels)}`;
const hidden = '\u200b\u202e\u{e0041}'.repeat(mebibyte);

/** For each: what the aggregate may show of it is the case's matter. */
export const lists: Readonly<Record<string, Lister>> = {
  calls: honest,
  flood: (method, params, response, id) => {
    if (method !== 'subscriptions/listen') return honest(method, params);
    answers['flood']?.(response, id);
    return undefined;
  },
  'deep-schema': except('tools/list', raw(`{"tools":[{"name":"t","inputSchema":${deep}}]}`)),
  'deep-about': except(
    'server/discover',
    raw(`{"capabilities":{"extensions":${deep}},"supportedVersions":[]}`),
  ),
  'endless-list': except('tools/list', (_method, _params, response, id) => {
    answers['endless-json']?.(response, id);
    return undefined;
  }),
  'endless-pages': except('tools/list', (_method, params) => ({
    tools: [],
    nextCursor: String(Number(params['cursor'] ?? 0) + 1),
  })),
  'pages-of-megabytes': except('tools/list', (_method, params) => ({
    tools: [{ name: `t${params['cursor'] ?? 0}`, inputSchema: {}, description: 'x'.repeat(mebibyte) }],
    nextCursor: String(Number(params['cursor'] ?? 0) + 1),
  })),
  'a-million-tools': except('tools/list', () => ({
    tools: Array.from({ length: levels }, (_, index) => ({ name: `t${index}` })),
  })),
  'long-names': except('tools/list', () => ({
    tools: Array.from({ length: 10 }, (_, index) => ({
      name: `${index}${'n'.repeat(mebibyte)}`,
      inputSchema: {},
    })),
  })),
  'text-for-objects': except('tools/list', () => ({
    tools: [
      { name: 't', inputSchema: 'x'.repeat(mebibyte), annotations: 'x'.repeat(10 * mebibyte), _meta: 'x' },
    ],
  })),
  'no-items': except(
    'tools/list',
    raw('{"tools":[null,1,"x",[],{"name":{}},{"name":5},{}],"nextCursor":{}}'),
  ),
  'no-list': except('tools/list', raw('{"tools":{"length":1000000000}}')),
  'proto-keys': except(
    'tools/list',
    raw(
      '{"__proto__":{"polluted":1},"tools":[{"__proto__":{"polluted":1},"name":"__proto__","inputSchema":{"__proto__":{"polluted":1}}},{"name":"constructor","inputSchema":{}},{"name":"toString","inputSchema":{}}]}',
    ),
  ),
  'proto-about': except(
    'server/discover',
    raw(
      '{"capabilities":{"__proto__":{"polluted":1},"extensions":{"__proto__":{"polluted":1},"constructor":{}}}}',
    ),
  ),
  'hidden-text': except('tools/list', () => ({
    tools: [{ name: 't', inputSchema: {}, description: hidden }],
  })),
  'evil-templates': except('resources/templates/list', () => ({
    resourceTemplates: [
      ...[
        '{'.repeat(mebibyte),
        '{a}'.repeat(100_000),
        '{+a*}{b}'.repeat(10_000),
        '{{{a}}}',
        '}{',
        '{a,{b,{c}}}',
      ],
      ...Array.from({ length: 5_000 }, (_, index) => `doc://${'x'.repeat(index % 500)}{a}`),
    ].map((uriTemplate, index) => ({ uriTemplate, name: `t${index}` })),
  })),
  'huge-instructions': except('server/discover', () => ({
    capabilities: subscribable,
    instructions: `${hidden}${'i'.repeat(5 * mebibyte)}`,
  })),
};
