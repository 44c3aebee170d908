import { isIP } from 'node:net';

/** Never reached by an agent, whatever a rule says: this machine, its link, everybody at once. */
export const forbiddenRanges: readonly string[] = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  // Link-local, where clouds keep their metadata services.
  '169.254.0.0/16',
  '192.0.0.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/128',
  '::1/128',
  'fe80::/10',
  'ff00::/8',
  '100::/64',
  // Metadata services outside link-local ranges.
  '100.100.100.200/32',
  '168.63.129.16/32',
  'fd00:ec2::254/128',
];

/** Somebody's own network: reached only by a rule that lists such a range by its numbers. */
export const privateRanges: readonly string[] = [
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  // Carrier-grade NAT, RFC 6598.
  '100.64.0.0/10',
  // Benchmarking, RFC 2544.
  '198.18.0.0/15',
  // Unique local, RFC 4193; site-local, deprecated by RFC 3879.
  'fc00::/7',
  'fec0::/10',
];

/** An address range in the form that Kubernetes asks for, and what stays closed inside it. */
export interface OpenRange {
  readonly cidr: string;
  readonly except: readonly string[];
}

/**
 * What an egress rule for `cidr` opens: not the forbidden ranges, and private ones only where the range lies in one.
 * Undefined when nothing is left, or `cidr` is no address range.
 */
export function openRange(cidr: string): OpenRange | undefined {
  const range = parseRange(cidr);
  if (range === undefined) return undefined;
  const inside = (ranges: readonly string[]) =>
    ranges.filter((text) => {
      const other = parseRange(text);
      return other !== undefined && other.bits > range.bits && contains(range, other);
    });
  const isForbidden = forbiddenRanges.some((text) => {
    const other = parseRange(text);
    return other !== undefined && contains(other, range);
  });
  if (isForbidden) return undefined;
  return { cidr: format(range), except: [...inside(forbiddenRanges), ...inside(privateRanges)] };
}

interface Range {
  readonly family: 4 | 6;
  /** First address. */
  readonly first: bigint;
  /** Length of the prefix. */
  readonly bits: number;
}

const widthOf = { 4: 32, 6: 128 } as const;

function parseRange(cidr: string): Range | undefined {
  const [address = '', prefix = ''] = cidr.split('/');
  const family = isIP(address);
  const bits = Number(prefix);
  if ((family !== 4 && family !== 6) || !/^[0-9]+$/.test(prefix) || bits > widthOf[family]) return undefined;
  const rest = BigInt(widthOf[family] - bits);
  const number = family === 4 ? number4(address) : number6(address);
  return { family, first: (number >> rest) << rest, bits };
}

function contains(outer: Range, inner: Range): boolean {
  if (outer.family !== inner.family || outer.bits > inner.bits) return false;
  const rest = BigInt(widthOf[outer.family] - outer.bits);
  return outer.first >> rest === inner.first >> rest;
}

function number4(address: string): bigint {
  return address.split('.').reduce((sum, part) => (sum << 8n) + BigInt(part), 0n);
}

function number6(address: string): bigint {
  const dotted = /(?<head>.*:)(?<tail>\d+\.\d+\.\d+\.\d+)$/.exec(address)?.groups;
  const tail = dotted === undefined ? 0n : number4(dotted['tail'] ?? '');
  const plain =
    dotted === undefined
      ? address
      : `${dotted['head']}${(tail >> 16n).toString(16)}:${(tail & 0xffffn).toString(16)}`;
  const [front = '', back] = plain.split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':'));
  const zeros = new Array<string>(Math.max(0, 8 - groups(front).length - groups(back ?? '').length)).fill(
    '0',
  );
  const all = [...groups(front), ...(back === undefined ? [] : zeros), ...groups(back ?? '')];
  return all.reduce((sum, group) => (sum << 16n) + BigInt(`0x${group}`), 0n);
}

function format({ family, first, bits }: Range): string {
  if (family === 4) {
    const parts = [24n, 16n, 8n, 0n].map((shift) => String((first >> shift) & 0xffn));
    return `${parts.join('.')}/${bits}`;
  }
  const groups = Array.from({ length: 8 }, (_, index) =>
    ((first >> BigInt(16 * (7 - index))) & 0xffffn).toString(16),
  );
  return `${compress(groups)}/${bits}`;
}

/** RFC 5952: the longest run of two zero groups or more becomes "::", the first of equals. */
function compress(groups: readonly string[]): string {
  const text = groups.join(':');
  const runs = [...text.matchAll(/(?<![0-9a-f])0(?::0)+(?![0-9a-f])/g)];
  const longest = runs.reduce<RegExpExecArray | undefined>(
    (best, run) => (best === undefined || run[0].length > best[0].length ? run : best),
    undefined,
  );
  if (longest === undefined) return text;
  const before = text.slice(0, longest.index).replace(/:$/, '');
  const after = text.slice(longest.index + longest[0].length).replace(/^:/, '');
  return `${before}::${after}`;
}
