import { digestOf } from '#kit/digest.ts';
import type { Era } from '#mcp/eras.ts';
import { statelessRevisions } from '#mcp/eras.ts';
import { hidesText } from '#mcp/hidden-text.ts';
import { type CacheHint, type Result, wrapResult } from '#mcp/results.ts';
import { identitiesOf } from '#mcp/tool-identity.ts';
import type { Implementation } from '#mcp/types.ts';
import { mostHidden } from '#wire/changes.ts';
import type { Catalog } from '../source.ts';

export const serverInfo: Implementation = { name: 'ploinky-agent-mcp', version: '1.0.0' };

/** Lists are the same for every caller; changes are announced, so that a short life is enough. */
const listHint: CacheHint = { ttlMs: 5000, cacheScope: 'public' };

/** Everything that can be answered from a catalog alone, as JSON text made once per catalog and era. */
export interface Listing {
  /** JSON of the result of a list method or server/discover; undefined for another method. */
  resultJson(era: Era, method: string): string | undefined;
  readonly capabilities: Record<string, unknown>;
  readonly digests: ListDigests;
  /** For the change stream; undefined when there are too many tools for one line. */
  readonly tools: Readonly<Record<string, string>> | undefined;
  /** Names of the first tools with text that people do not see. */
  readonly hidden: readonly string[];
}

export interface ListDigests {
  readonly tools: string;
  readonly resources: string;
  readonly prompts: string;
}

export function createListing(catalog: Catalog): Listing {
  const capabilities = capabilitiesOf(catalog);
  const made = new Map<string, string>();
  const results: Record<string, () => Result> = {
    'tools/list': () => ({ tools: catalog.tools }),
    'resources/list': () => ({ resources: catalog.resources }),
    'resources/templates/list': () => ({ resourceTemplates: catalog.resourceTemplates }),
    'prompts/list': () => ({ prompts: catalog.prompts }),
  };
  const discover = () => ({
    supportedVersions: statelessRevisions,
    capabilities: {
      ...capabilities,
      ...(Object.keys(catalog.extensions).length > 0 && { extensions: catalog.extensions }),
    },
    ...(catalog.instructions !== undefined && { instructions: catalog.instructions }),
  });
  return {
    capabilities,
    digests: {
      tools: digestOf(catalog.tools),
      resources: digestOf([catalog.resources, catalog.resourceTemplates]),
      prompts: digestOf(catalog.prompts),
    },
    tools: boundedIdentities(catalog),
    hidden: catalog.tools
      .filter((tool) => hidesText(tool))
      .slice(0, mostHidden)
      .map(({ name }) => name.slice(0, 128)),
    resultJson(era, method) {
      const make = method === 'server/discover' && era === 'stateless' ? discover : results[method];
      if (make === undefined || !Object.hasOwn({ ...results, 'server/discover': 1 }, method))
        return undefined;
      const key = `${era} ${method}`;
      const known = made.get(key);
      if (known !== undefined) return known;
      const json = JSON.stringify(wrapResult(era, method, make(), serverInfo, listHint));
      made.set(key, json);
      return json;
    },
  };
}

/** A line of the change stream has room for other things, too. */
const mostIdentityBytes = 32 * 1024;

function boundedIdentities({ tools }: Catalog): Record<string, string> | undefined {
  const identities = Object.fromEntries(identitiesOf(tools));
  return Buffer.byteLength(JSON.stringify(identities)) > mostIdentityBytes ? undefined : identities;
}

function capabilitiesOf(catalog: Catalog): Record<string, unknown> {
  return {
    tools: { listChanged: true },
    resources: { listChanged: true, ...(catalog.subscriptions && { subscribe: true }) },
    prompts: { listChanged: true },
    ...(catalog.completions && { completions: {} }),
    logging: {},
  };
}
