import { privateRanges } from '#api/address-ranges.ts';
import { inRanges, listOfRanges } from '#api/classify-address.ts';
import type { EgressRule } from '#api/egress.ts';

/**
 * Whether `rule` names a private range by its numbers and `address` is in it. A wide range such as 0.0.0.0/0 does
 * not count: it would open the private ranges without saying so.
 */
export function listsPrivateRange(rule: EgressRule, address: string): boolean {
  if (rule.cidr === undefined) return false;
  const [network = '', prefix = ''] = rule.cidr.split('/');
  const isNarrow = privateRanges.some((range) => {
    const [, size = ''] = range.split('/');
    return Number(prefix) >= Number(size) && inRanges(listOfRanges([range]), network);
  });
  return isNarrow && inRanges(listOfRanges([rule.cidr]), address);
}
