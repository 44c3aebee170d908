import type { KubeObject, Resource } from '#api/meta.ts';
import type { Client } from './client.ts';
import type { List, ListOptions } from './client-options.ts';
import { isGone } from './errors.ts';

/**
 * A whole collection page by page, one snapshot: every page has the first one's resourceVersion. When the
 * snapshot is compacted away between pages (410), yields one page with everything and `restarted` true:
 * what came before it counts no more.
 */
export async function* listPages<T extends KubeObject>(
  client: Client,
  resource: Resource,
  options: ListOptions & { readonly limit: number },
): AsyncGenerator<List<T> & { readonly restarted: boolean }> {
  let page = await client.list<T>(resource, options);
  yield { ...page, restarted: false };
  while (page.metadata.continue) {
    try {
      page = await client.list<T>(resource, { ...options, continue: page.metadata.continue });
    } catch (error) {
      if (!isGone(error)) throw error;
      const { limit: _limit, ...whole } = options;
      yield { ...(await client.list<T>(resource, whole)), restarted: true };
      return;
    }
    yield { ...page, restarted: false };
  }
}
