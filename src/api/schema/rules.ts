import type { z } from 'zod';

/**
 * A rule over several fields, said once and enforced twice: by CEL in the API server and by `holds` here.
 * `rule` keeps to the subset that both API servers run: has, !, &&, ||, ==, !=, <=, in, size, all, exists,
 * filter, matches, startsWith, literals, lists. `holds` sees the value with its defaults filled in, as CEL does.
 */
export interface Rule<T> {
  readonly rule: string;
  /** What must hold and what to do, as a sentence without the field's path. */
  readonly message: string;
  /** The field at fault below the object, as `.name` or `.name.other`. Default: the object itself. */
  readonly at?: string;
  readonly holds: (value: T) => boolean;
}

/** Adds cross-field rules to a schema: to its parsing and to the CRD that is generated from it. */
export function withRules<S extends z.ZodType>(schema: S, rules: readonly Rule<z.output<S>>[]): S {
  const earlier = schema.meta()?.['x-kubernetes-validations'];
  return schema
    .superRefine((value, context) => {
      for (const { message, at, holds } of rules) {
        if (!holds(value)) context.addIssue({ code: 'custom', message, path: pathOf(at) });
      }
    })
    .meta({
      'x-kubernetes-validations': [
        ...(Array.isArray(earlier) ? earlier : []),
        ...rules.map(({ rule, message, at }) => ({
          rule,
          message,
          ...(at === undefined ? {} : { fieldPath: at }),
        })),
      ],
    });
}

/** Marks a field that nothing acts on yet: an object that sets it is not accepted. */
export function notYet<S extends z.ZodType>(schema: S): S {
  return schema.meta({ 'x-ploinky-implemented': false });
}

/** Marks values of an enum that nothing acts on yet. */
export function notYetValues<S extends z.ZodType>(schema: S, values: readonly string[]): S {
  return schema.meta({ 'x-ploinky-not-implemented-values': values });
}

/** "exactly one of" as a rule. `among` are the names of optional members. */
export function exactlyOne<T extends object>(among: readonly (keyof T & string)[]): Rule<T> {
  return countOf(among, '== 1', (count) => count === 1, `exactly one of ${among.join(', ')} must be given`);
}

/** "at most one of" as a rule. */
export function atMostOne<T extends object>(among: readonly (keyof T & string)[]): Rule<T> {
  return countOf(among, '<= 1', (count) => count <= 1, `at most one of ${among.join(', ')} may be given`);
}

/** "at least one of" as a rule. */
export function atLeastOne<T extends object>(among: readonly (keyof T & string)[]): Rule<T> {
  return {
    rule: among.map((name) => `has(self.${name})`).join(' || '),
    message: `at least one of ${among.join(', ')} must be given`,
    holds: (value) => among.some((name) => value[name] !== undefined),
  };
}

function countOf<T extends object>(
  among: readonly (keyof T & string)[],
  comparison: string,
  accepts: (count: number) => boolean,
  message: string,
): Rule<T> {
  return {
    rule: `[${among.map((name) => `has(self.${name})`).join(', ')}].filter(given, given).size() ${comparison}`,
    message,
    holds: (value) => accepts(among.filter((name) => value[name] !== undefined).length),
  };
}

function pathOf(at: string | undefined): string[] {
  return at === undefined ? [] : at.split('.').slice(1);
}
