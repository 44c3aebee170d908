import type { FieldError } from '../field-error.ts';
import marks from '../generated/route-marks.json' with { type: 'json' };
import type { JsonSchema } from '../schema/json-schema.ts';
import { unimplementedBelow } from '../unimplemented-below.ts';

/** `unimplementedFields` of a Route's spec, for programs that start too often to load its schema for this. */
export function unimplementedInRoute(spec: unknown): FieldError[] {
  return unimplementedBelow(spec, marks as JsonSchema, 'spec');
}
