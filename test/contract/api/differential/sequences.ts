import fc from 'fast-check';
import { type Json, objectOf } from './objects.ts';
import { read, remove, scale, status } from './others.ts';
import type { Request } from './request.ts';
import { type Subject, subjects } from './subjects.ts';
import { apply, create, merge, operations, update } from './writes.ts';

function requestOf(subject: Subject): fc.Arbitrary<Request> {
  return fc.oneof(
    { weight: 4, arbitrary: create(subject) },
    { weight: 4, arbitrary: update(subject) },
    { weight: 4, arbitrary: merge(subject) },
    { weight: 3, arbitrary: operations(subject) },
    { weight: 6, arbitrary: apply(subject) },
    ...status(subject).map((arbitrary) => ({ weight: 3, arbitrary })),
    ...scale(subject).map((arbitrary) => ({ weight: 2, arbitrary })),
    { weight: 3, arbitrary: remove(subject) },
    { weight: 3, arbitrary: read(subject) },
  );
}

/** Sequences of requests about one kind, the first of which mostly makes an object: so they meet each other. */
export const sequences: fc.Arbitrary<Request[]> = fc.oneof(
  ...subjects.map(({ weight, subject }) => {
    const first = fc.oneof(
      { weight: 4, arbitrary: objectOf(subject, 'valid').map((body) => made(subject, body('a'))) },
      { weight: 1, arbitrary: requestOf(subject) },
    );
    const request = requestOf(subject);
    const more = fc.array(request, { maxLength: 12, size: 'max' });
    return { weight, arbitrary: fc.tuple(first, more).map(([one, others]) => [one, ...others]) };
  }),
);

function made(subject: Subject, body: Json): Request {
  return { method: 'POST', path: subject.plural, body };
}
