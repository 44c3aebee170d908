import fc from 'fast-check';
import { isObject, type JsonObject } from '#kit/json.ts';
import type { Kind } from '../kinds.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import { schemaOf } from '../validate.ts';

/**
 * Specs of a kind that parse, every field among them: drawn from its JSON Schema, then pruned until they do.
 * Members of `base` are in every one of them.
 */
export function validSpec(kind: Kind, base: JsonObject): fc.Arbitrary<JsonObject> {
  return fc.tuple(arbitraryOf(schemaOf(kind)), fc.nat()).map(([drawn, choice]) => {
    const spec = structuredClone({ ...(isObject(drawn) ? drawn : {}), ...base }) as JsonObject;
    return prune(kind, spec, new Set(Object.keys(base)), choice);
  });
}

function arbitraryOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(arbitraryOf));
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case 'object':
      return objectOf(schema);
    case 'array':
      return arrayOf(schema);
    case 'string':
      return stringOf(schema);
    case 'integer':
      return fc.integer({ min: schema.minimum ?? 0, max: Math.min(schema.maximum ?? 2 ** 31, 2 ** 31) });
    case 'number':
      return fc.double({ min: schema.minimum ?? 0, max: schema.maximum ?? 1e6, noNaN: true });
    case 'boolean':
      return fc.boolean();
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function objectOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  if (schema['x-kubernetes-preserve-unknown-fields']) {
    return fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });
  }
  if (schema.properties === undefined) {
    const values = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {};
    return fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), arbitraryOf(values), { maxKeys: 3 });
  }
  const members = Object.fromEntries(
    Object.entries(schema.properties).map(([name, child]) => [name, arbitraryOf(child)]),
  );
  return fc.record(members, { requiredKeys: [...(schema.required ?? [])] });
}

function arrayOf({ items = {}, minItems = 0, maxItems = 3 }: JsonSchema): fc.Arbitrary<unknown> {
  return fc.array(arbitraryOf(items), { minLength: minItems, maxLength: Math.min(maxItems, minItems + 2) });
}

function stringOf({ pattern, minLength = 0, maxLength = 16 }: JsonSchema): fc.Arbitrary<string> {
  if (pattern === undefined) return fc.string({ minLength, maxLength: Math.min(maxLength, minLength + 16) });
  return fc.stringMatching(new RegExp(pattern), { maxLength: Math.min(maxLength, 64) });
}

/** Takes away what parsing complains about, or what holds it, until nothing is left to complain about. */
function prune(kind: Kind, spec: JsonObject, kept: ReadonlySet<string>, choice: number): JsonObject {
  for (let round = 0; round < 10_000; round += 1) {
    const issue = kind.spec.safeParse(spec).error?.issues[0];
    if (issue === undefined) return spec;
    const found = valueAt(spec, issue.path);
    const at = isObject(found) ? found : {};
    const isRoot = issue.path.length === 0;
    const members = Object.keys(at).filter((name) => !isRoot || !kept.has(name));
    const enough = members.length > (isRoot ? 0 : 1);
    if (issue.code === 'unrecognized_keys') for (const name of issue.keys) delete at[name];
    else if (issue.code === 'custom' && enough) delete at[members[(choice + round) % members.length] ?? ''];
    else removeAt(spec, issue.path);
  }
  throw new Error(`cannot prune ${JSON.stringify(spec)}`);
}

/** Removes what a path leads to; where that is gone already (it is required), what holds it. */
function removeAt(root: JsonObject, path: readonly PropertyKey[]): void {
  const last = path.at(-1);
  if (last === undefined) return;
  const holder = valueAt(root, path.slice(0, -1));
  if (Array.isArray(holder) && Number(last) < holder.length) holder.splice(Number(last), 1);
  else if (isObject(holder) && Object.hasOwn(holder, last)) delete holder[String(last)];
  else removeAt(root, path.slice(0, -1));
}

function valueAt(root: JsonObject, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, step) => Object(value)[step], root);
}
