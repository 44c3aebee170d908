import { oncePerObject } from '#kit/memo.ts';
import { cleanItem } from '#mcp/hidden-text.ts';
import type { Item } from './list-kinds.ts';

/** Lists are merged again whenever one of them changes; most of their items are then the same. */
export const cleanOnce = oncePerObject((item: Item): Item => cleanItem(item));
