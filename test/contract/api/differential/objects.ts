import fc from 'fast-check';
import type { Request } from './request.ts';
import type { Subject } from './subjects.ts';
import { type Care, drawValue } from './values.ts';

export type Json = Readonly<Record<string, unknown>>;

export const nothing = fc.constant({});
/** A finalizer that nobody takes away but the sequence itself. */
export const hold = 'contract.ploinky.dev/hold';

/** Part of a query, mostly absent. */
export const optional = (texts: readonly string[], weight = 1) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant('') }, { weight, arbitrary: fc.constantFrom(...texts) });
export const dryRun = optional(['dryRun=All']);
export const validation = optional(
  ['fieldValidation=Strict', 'fieldValidation=Ignore', 'fieldValidation=Warn'],
  2,
);
const manager = optional(['fieldManager=one', 'fieldManager=two'], 3);
/** The query of a write. */
export const writing = fc.tuple(dryRun, validation, manager).map(queryOf);

/** A query of those parts that are there. */
export function queryOf(parts: readonly string[]): string {
  const given = parts.filter((part) => part !== '');
  return given.length === 0 ? '' : `?${given.join('&')}`;
}

const entries = (values: readonly string[]) =>
  fc.dictionary(fc.constantFrom('app', 'tier'), fc.constantFrom(...values), { maxKeys: 2 });
const metadata: fc.Arbitrary<Json> = fc.record(
  {
    labels: entries(['x', 'y', '']),
    annotations: entries(['1', '']),
    finalizers: fc.constantFrom<readonly string[]>([hold], [], [hold, 'x.y/z']),
  },
  { requiredKeys: [] },
);
const flawedMetadata: fc.Arbitrary<Json> = fc.oneof(
  metadata,
  fc.constantFrom<Json>(
    { labels: { 'a b': 'x' } },
    { labels: { app: 'x y' } },
    { labels: { app: 5 } },
    { annotations: { 'a b': 'c' } },
    { finalizers: ['no slash!'] },
    { finalizers: ['plain', 'some.plain'] },
    { uid: '$uid' },
    { uid: 'other' },
    { resourceVersion: '$fresh' },
    { generation: 7 },
    { creationTimestamp: null },
    { nope: 1 },
    { namespace: 'elsewhere' },
    { labels: null },
    { deletionTimestamp: '2026-01-02T03:04:05Z' },
  ),
);
/** What a client writes into an object's metadata beside its name. */
export const metadataOf = (level: Care) => (level === 'valid' ? metadata : flawedMetadata);

/** A whole object of a kind, for a name to be given. */
export function objectOf(subject: Subject, level: Care): fc.Arbitrary<(name: string) => Json> {
  const status = subject.status;
  return fc
    .tuple(
      fc.oneof({ weight: 1, arbitrary: metadataOf(level) }, { weight: 2, arbitrary: nothing }),
      subject.content(level),
      status === undefined
        ? nothing
        : fc.oneof(
            { weight: 5, arbitrary: nothing },
            { weight: 1, arbitrary: drawValue(status, level).map((one) => ({ status: one })) },
          ),
    )
    .map(([meta, content, more]) => (name: string) => ({
      apiVersion: subject.apiVersion,
      kind: subject.kind,
      metadata: { name, ...meta },
      ...content,
      ...more,
    }));
}

/** What a verb sends to one of two objects: mostly valid, and mostly to the first. */
export function drawn(draw: (level: Care) => fc.Arbitrary<(name: string) => Request>): fc.Arbitrary<Request> {
  return fc
    .tuple(
      fc.oneof({ weight: 2, arbitrary: draw('valid') }, { weight: 1, arbitrary: draw('flawed') }),
      fc.oneof({ weight: 3, arbitrary: fc.constant('a') }, { weight: 1, arbitrary: fc.constant('b') }),
    )
    .map(([made, name]) => made(name));
}
