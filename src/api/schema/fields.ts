import { z } from 'zod';
import { dnsLabel } from '../meta.ts';

/** Text of 1 to `max` UTF-16 code units (the API server counts code points: never more). */
export function text(max: number): z.ZodString {
  return z.string().min(1).max(max);
}

export const shortText = text(1024);
export const longText = text(16_384);

/** Program and arguments; never a shell line. */
export const commandLine = listOf(z.string().max(4096), 256).min(1);

/** At most a year. */
export const seconds = z.int().min(0).max(31_536_000);
/** At most a week. */
export const milliseconds = z.int().min(1).max(604_800_000);
export const bytes = z.int().min(0).max(1_099_511_627_776);
export const tokens = z.int().min(0).max(1_000_000_000_000);
export const port = z.int().min(1).max(65_535);

/** DNS-1123 subdomain: the name of a Secret, a ConfigMap, a claim (RFC 1123). */
export const objectName = z
  .string()
  .min(1)
  .max(253)
  .regex(
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
    'must be lower-case letters, digits, "-" and ".", and begin and end with a letter or digit',
  );

export const envKey: KeyRule = {
  pattern: /^[A-Za-z_][A-Za-z0-9_]*$/,
  maxLength: 255,
  message: 'must be letters, digits and "_", and not begin with a digit',
};
export const envName = z.string().min(1).max(envKey.maxLength).regex(envKey.pattern, envKey.message);

/** Host name, exact or with one leading `*.`; an address is no host name. */
export const hostPattern = z
  .string()
  .min(1)
  .max(253)
  .regex(
    /^(\*\.)?([A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?\.)*[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$/,
    'must be a host name like api.example.com or *.example.com, without scheme, port or path; an address goes under cidr',
  );

/** URL path of a prefix: `/` or `/one/two`, no empty, hidden or dot segments, no trailing slash. */
export const pathPrefix = z
  .string()
  .min(1)
  .max(255)
  .regex(
    /^(\/|(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+)$/,
    'must begin with "/", end without one, and have no empty segment and none that begins with "."',
  );

const segment = String.raw`([^/.][^/]*|\.[^/.][^/]*|\.\.[^/]+)`;
const segments = `${segment}(/${segment})*`;

export const relativePathKey: KeyRule = {
  pattern: new RegExp(`^${segments}$`),
  maxLength: 1024,
  message: 'must be a relative path without "." or ".." segments',
};
/** File or folder below a root: relative, forward slashes, no `.` or `..` segment. */
export const relativePath = z
  .string()
  .min(1)
  .max(1024)
  .regex(relativePathKey.pattern, relativePathKey.message);

/** A folder below a root or the root itself: `.`, `./one`, `one/two`. */
export const relativeFolder = z
  .string()
  .min(1)
  .max(1024)
  .regex(
    new RegExp(`^(\\.|\\./|(\\./)?${segments}/?)$`),
    'must be a path relative to the workspace, without ".." segments',
  );

/** Kubernetes quantity, as a number or text: `2`, `500m`, `512Mi`. */
export const quantity = z
  .union([
    z.int().min(0).max(9_007_199_254_740_991),
    z
      .string()
      .max(32)
      .regex(
        /^([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+|[mkMGTPE]|[KMGTPE]i)?$/,
        'must be a quantity like 2, 500m or 512Mi',
      ),
  ])
  .meta({ 'x-kubernetes-int-or-string': true });

/** Text, or a number that counts as its decimal text. */
export const scalarText = z
  .union([z.string().max(4096), z.int().min(-9_007_199_254_740_991).max(9_007_199_254_740_991)])
  .meta({ 'x-kubernetes-int-or-string': true });

export const secretKeyRef = z.strictObject({
  name: objectName.describe('Name of the Secret in the same namespace.'),
  key: text(253).describe('Key in its data.'),
  optional: z
    .boolean()
    .describe('Whether a missing object or key is fine; then the value is left out.')
    .optional(),
});

export const configMapKeyRef = z.strictObject({
  name: objectName.describe('Name of the ConfigMap in the same namespace.'),
  key: text(253).describe('Key in its data.'),
  optional: z
    .boolean()
    .describe('Whether a missing object or key is fine; then the value is left out.')
    .optional(),
});

export const agentName = dnsLabel;

/** A list that is replaced as a whole. */
export function listOf<S extends z.ZodType>(item: S, max: number): z.ZodArray<S> {
  return z.array(item).max(max).meta({ 'x-kubernetes-list-type': 'atomic' });
}

/** A list of scalars without repetition; several writers can own its items. */
export function setOf<S extends z.ZodType<string | number>>(item: S, max: number): z.ZodArray<S> {
  return z
    .array(item)
    .max(max)
    .superRefine((items, context) => {
      for (const index of repeatedIndexes(items)) {
        context.addIssue({ code: 'custom', message: 'is listed twice; remove one', path: [index] });
      }
    })
    .meta({ 'x-kubernetes-list-type': 'set' });
}

/** A list of objects that are told apart by their member `key`. */
export function listMap<S extends z.ZodType<object>>(item: S, key: string, max: number): z.ZodArray<S> {
  return z
    .array(item)
    .max(max)
    .superRefine((items, context) => {
      const keys = items.map((entry) => (entry as Record<string, unknown>)[key]);
      for (const index of repeatedIndexes(keys)) {
        const message = `has the ${key} "${String(keys[index])}" of another item; each may appear once`;
        context.addIssue({ code: 'custom', message, path: [index] });
      }
    })
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] });
}

/** What the names of a map's members must be. */
export interface KeyRule {
  readonly pattern: RegExp;
  readonly maxLength: number;
  readonly message: string;
}

/** A map with at most `max` members, whose names follow `key`. */
export function mapOf<V extends z.ZodType>(key: KeyRule, value: V, max: number): z.ZodRecord<z.ZodString, V> {
  const name = z.string().min(1).max(key.maxLength).regex(key.pattern, key.message);
  return z
    .record(name, value)
    .refine((members) => Object.keys(members).length <= max, `must have at most ${max} members`)
    .meta({
      maxProperties: max,
      'x-kubernetes-validations': [
        {
          rule: `self.all(name, size(name) <= ${key.maxLength} && name.matches('${celEscape(key.pattern.source)}'))`,
          message: `every name ${key.message} (at most ${key.maxLength} characters)`,
        },
      ],
    });
}

function celEscape(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll("'", "\\'");
}

/** Any JSON object, at most `maxBytes` of JSON text. A CRD cannot count the bytes; parsing does. */
export function freeObject(maxProperties: number, maxBytes: number): z.ZodRecord<z.ZodString, z.ZodUnknown> {
  return z
    .record(z.string().max(253), z.unknown())
    .refine(
      (value) => Object.keys(value).length <= maxProperties,
      `must have at most ${maxProperties} members`,
    )
    .refine((value) => byteLength(value) <= maxBytes, `must be at most ${maxBytes} bytes of JSON`)
    .meta({ maxProperties, 'x-kubernetes-preserve-unknown-fields': true });
}

function byteLength(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

function repeatedIndexes(values: readonly unknown[]): number[] {
  const seen = new Set<unknown>();
  const repeated: number[] = [];
  for (const [index, value] of values.entries()) {
    if (seen.has(value)) repeated.push(index);
    seen.add(value);
  }
  return repeated;
}
