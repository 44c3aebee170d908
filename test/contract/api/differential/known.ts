import { isDeepStrictEqual } from 'node:util';
import { isObject } from '#kit/json.ts';
import type { Difference } from './compare.ts';

/** Differences that stay, each with its reason. */
const known: readonly ((difference: Difference) => boolean)[] = [
  // What is immutable may not become an empty map instead of none: an accident of Go's comparison, which has no
  // effect that anybody could see, since empty maps are not shown.
  ({ answers: [ours, real] }) =>
    isObject(ours) &&
    ours['status'] === 200 &&
    JSON.stringify(real).includes('field is immutable when `immutable` is set'),
  // A value of bytes that is null is stored in another form than one that is empty, though it is shown as that.
  ({ at, answers: [ours, real] }) =>
    /"path":"(secrets|configmaps)\/.*"op":/.test(at) &&
    isDeepStrictEqual(withoutVersion(ours), withoutVersion(real)),
];

function withoutVersion(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer), (key, value) => (key === 'resourceVersion' ? undefined : value));
}

export function isKnown(difference: Difference): boolean {
  return known.some((one) => one(difference));
}
