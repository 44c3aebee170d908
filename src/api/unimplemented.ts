import type { FieldError } from './field-error.ts';
import { type KindName, kinds } from './kinds.ts';
import { unimplementedBelow } from './unimplemented-below.ts';
import { schemaOf } from './validate.ts';

/**
 * The fields of a spec, its defaults filled in, that this version knows and does nothing with. Not empty: the
 * object gets Accepted=False with reason NotImplemented. A field that has its default, or is an empty list,
 * asks for nothing and is not among them.
 */
export function unimplementedFields(kind: KindName, spec: unknown): FieldError[] {
  return unimplementedBelow(spec, schemaOf(kinds[kind]), 'spec');
}
