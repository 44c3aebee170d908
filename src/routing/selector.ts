import type { Route } from '#api/route.ts';

export type Selector = NonNullable<Route['spec']['selector']>;
export type Labels = Readonly<Record<string, string>>;

/** metav1.LabelSelector. An empty selector matches everything. */
export function matcherOf(selector: Selector): (labels: Labels) => boolean {
  const equal = Object.entries(selector.matchLabels ?? {});
  const expressions = selector.matchExpressions ?? [];
  return (labels) =>
    equal.every(([key, value]) => labels[key] === value) &&
    expressions.every((expression) => matches(labels, expression));
}

export function areSameLabels(left: Labels, right: Labels): boolean {
  const keys = Object.keys(left);
  return keys.length === Object.keys(right).length && keys.every((key) => left[key] === right[key]);
}

type Expression = NonNullable<Selector['matchExpressions']>[number];

function matches(labels: Labels, { key, operator, values }: Expression): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  const listed = value !== undefined && (values ?? []).includes(value);
  switch (operator) {
    case 'In':
      return listed;
    case 'NotIn':
      return !listed;
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}
