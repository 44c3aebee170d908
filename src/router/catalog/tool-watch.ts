import type { Log } from '#kit/log.ts';
import { hidesText } from '#mcp/hidden-text.ts';
import { changedTools, identitiesOf, nameSome, type ToolIdentities } from '#mcp/tool-identity.ts';
import type { Target } from '#routing/target.ts';
import type { CatalogKind, Item } from './list-kinds.ts';

/** Logs tools that are not what they were when this router first saw them, and text in lists that people do not see. */
export interface ToolWatch {
  look(target: Target, kind: CatalogKind, items: readonly Item[]): void;
  forget(uid: string): void;
}

export function createToolWatch(log: Log): ToolWatch {
  const known = new Map<string, ToolIdentities>();
  const told = new Map<string, Map<CatalogKind, string>>();

  function lookForHidden({ identity, name }: Target, kind: CatalogKind, items: readonly Item[]): void {
    const hidden = items.filter(hidesText).map((item) => String(item['name'] ?? item['uri']));
    const word = hidden.length === 0 ? '' : nameSome(hidden);
    const words = told.get(identity.uid);
    if (word === (words?.get(kind) ?? '')) return;
    told.set(identity.uid, (words ?? new Map<CatalogKind, string>()).set(kind, word));
    if (word !== '')
      log.warn('an agent lists text that people do not see', { agent: name, kind, items: word });
  }
  return {
    look(target, kind, items) {
      if (kind === 'about') return;
      lookForHidden(target, kind, items);
      if (kind !== 'tools') return;
      const { uid } = target.identity;
      const now = identitiesOf(items);
      const changed = changedTools(known.get(uid) ?? new Map(), now);
      known.set(uid, now);
      if (changed.length > 0)
        log.warn('tools of an agent are not what they were', {
          agent: target.name,
          tools: nameSome(changed),
        });
    },
    forget(uid) {
      known.delete(uid);
      told.delete(uid);
    },
  };
}
