import type { Log } from '#kit/log.ts';
import { hidesText } from '#mcp/hidden-text.ts';
import { isSameTool, nameSome } from '#mcp/tool-identity.ts';
import type { Target } from '#routing/target.ts';
import type { Listed } from './catalog.ts';
import { cleanOnce, isPlainList } from './clean-once.ts';
import type { CatalogKind, Item } from './list-kinds.ts';

/** Logs tools that are not what they were when this router saw them before, and text in lists that people do not see. */
export interface ToolWatch {
  look(target: Target, kind: CatalogKind, listed: Listed): void;
  forget(uid: string): void;
}

export function createToolWatch(log: Log): ToolWatch {
  const told = new Map<string, Map<CatalogKind, string>>();

  function lookForHidden({ identity, name }: Target, kind: CatalogKind, items: readonly Item[]): void {
    const hidden = isPlainList(items) ? [] : items.filter((item) => hidesText(item, cleanOnce));
    const word =
      hidden.length === 0 ? '' : nameSome(hidden.map((item) => String(item['name'] ?? item['uri'])));
    const words = told.get(identity.uid);
    if (word === (words?.get(kind) ?? '')) return;
    told.set(identity.uid, (words ?? new Map<CatalogKind, string>()).set(kind, word));
    if (word !== '')
      log.warn('an agent lists text that people do not see', { agent: name, kind, items: word });
  }
  return {
    look(target, kind, { items, before }) {
      if (kind === 'about' || items === before) return;
      lookForHidden(target, kind, items);
      const changed = kind === 'tools' && before !== undefined ? changedNames(before, items) : [];
      if (changed.length > 0)
        log.warn('tools of an agent are not what they were', {
          agent: target.name,
          tools: nameSome(changed),
        });
    },
    forget(uid) {
      told.delete(uid);
    },
  };
}

function changedNames(before: readonly Item[], items: readonly Item[]): string[] {
  const byName = new Map(before.map((tool) => [tool['name'], tool]));
  return items
    .filter((tool) => {
      const known = byName.get(tool['name']);
      return known !== undefined && !isSameTool(known, tool);
    })
    .map((tool) => String(tool['name']))
    .sort();
}
