import type { FuzzTarget } from './target.ts';
import { filesTargets } from './targets/files.ts';
import { httpTargets } from './targets/http.ts';
import { networkTargets } from './targets/network.ts';
import { plantedTargets } from './targets/planted.ts';
import { tokenTargets } from './targets/tokens.ts';

/** Everything that reads what strangers send. */
export const targets: readonly FuzzTarget[] = [
  ...filesTargets,
  ...httpTargets,
  ...tokenTargets,
  ...networkTargets,
];

/** With faults of their own: what shows that the fuzzer finds some. */
export const planted: readonly FuzzTarget[] = plantedTargets;

export function targetNamed(name: string): FuzzTarget {
  const found = [...targets, ...planted].find((target) => target.name === name);
  if (found === undefined)
    throw new Error(`there is no target "${name}"; there are: ${targets.map((one) => one.name).join(', ')}`);
  return found;
}
