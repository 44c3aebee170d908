import type { Schema } from '../schema/schema.ts';
import { mergePatch } from './merge-patch.ts';

export function strategicMerge(_schema: Schema, target: unknown, patch: unknown): unknown {
  return mergePatch(target, patch);
}
