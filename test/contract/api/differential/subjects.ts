import fc from 'fast-check';
import { customResourceDefinitions } from '#api/crd.ts';
import { type KindName, kinds } from '#api/kinds.ts';
import { validSpec } from '#api/testing/arbitrary.ts';
import { configMapKind } from '#apiserver/kinds/config-map.ts';
import { customKind } from '#apiserver/kinds/custom.ts';
import { apiVersionOf, type Kind } from '#apiserver/kinds/kind.ts';
import { leaseKind } from '#apiserver/kinds/lease.ts';
import { secretKind } from '#apiserver/kinds/secret.ts';
import type { Schema } from '#apiserver/schema/schema.ts';
import type { JsonObject } from '#kit/json.ts';
import { widgetDefinition } from '../fixtures/widget.ts';
import { type Care, drawValue } from './values.ts';

type Content = Readonly<Record<string, unknown>>;

/** A kind that sequences are about. */
export interface Subject {
  readonly plural: string;
  readonly apiVersion: string;
  readonly kind: string;
  /** What a client may write beside metadata and status. */
  readonly schema: Schema;
  readonly status: Schema | undefined;
  readonly scale: boolean;
  readonly strategic: boolean;
  /** A value of `schema`; for our kinds mostly one that obeys the CEL rules too. */
  content(care: Care): fc.Arbitrary<Content>;
}

const bases: Readonly<Record<string, JsonObject>> = {
  Route: { agents: [{ name: 'a' }], mcp: {} },
  Task: { agentRef: { name: 'a' }, tool: 't' },
};

/** The kinds, with how often each is drawn. */
export const subjects: readonly { weight: number; subject: Subject }[] = [
  { weight: 6, subject: subjectOf(customKind(widgetDefinition)) },
  ...customResourceDefinitions().map((definition) => ({
    weight: 2,
    subject: subjectOf(customKind(definition)),
  })),
  { weight: 2, subject: subjectOf(secretKind) },
  { weight: 1, subject: subjectOf(configMapKind) },
  { weight: 1, subject: subjectOf(leaseKind) },
];

/** Specs that obey every rule, from a pool: made once, and a failing sequence shrinks to the smallest of them. */
function specsOf(kind: (typeof kinds)[KindName], base: JsonObject): fc.Arbitrary<JsonObject> {
  const pool = fc.sample(validSpec(kind, base), { numRuns: 60, seed: 1 });
  const size = (spec: JsonObject) => JSON.stringify(spec).length;
  return fc.constantFrom(base, ...pool.sort((left, right) => size(left) - size(right)));
}

function subjectOf(kind: Kind): Subject {
  const { apiVersion: _, kind: __, metadata: ___, status, ...properties } = kind.schema.properties ?? {};
  const schema: Schema = { type: 'object', properties };
  const whole = (content: Content) => (kind.scale === undefined ? content : { spec: {}, ...content });
  const loose = (care: Care) => (drawValue(schema, care) as fc.Arbitrary<Content>).map(whole);
  const own = kind.group === 'ploinky.dev' ? kinds[kind.kind as KindName] : undefined;
  const valid = own && specsOf(own, bases[kind.kind] ?? {}).map((spec) => ({ spec }));
  return {
    plural: kind.plural,
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    schema,
    status: kind.status ? status : undefined,
    scale: kind.scale !== undefined,
    strategic: kind.strategy.strategicMerge,
    // Always with a spec: the real server stores no defaults in one that /scale makes, so that the next write of the
    // same is one more version.
    content: (care) =>
      valid === undefined || care === 'flawed'
        ? loose(care)
        : fc.oneof({ weight: 4, arbitrary: valid }, { weight: 1, arbitrary: loose(care) }),
  };
}
