import { BlockList, isIP } from 'node:net';
import { forbiddenRanges, privateRanges } from './address-ranges.ts';

/** Whose an address is: everybody's, a private network's, or one that is never reached on anybody's behalf. */
export type AddressKind = 'public' | 'private' | 'forbidden';

/** Classifies an address; one that carries an IPv4 address inside is judged by both. */
export function classifyAddress(address: string): AddressKind {
  if (inRanges(forbidden, address)) return 'forbidden';
  const embedded = embeddedAddresses(address).map(classifyAddress);
  if (embedded.includes('forbidden')) return 'forbidden';
  return inRanges(privateList, address) || embedded.includes('private') ? 'private' : 'public';
}

/** Ranges of addresses, each with its prefix length, in a form that is asked quickly. */
export function listOfRanges(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = '', prefix = ''] = range.split('/');
    list.addSubnet(network, Number(prefix), familyOf(network));
  }
  return list;
}

/** Whether an address is in one of the ranges; a zone is left out, and what is no address is in none. */
export function inRanges(list: BlockList, address: string): boolean {
  const [plain = ''] = address.split('%');
  return isIP(plain) !== 0 && list.check(plain, familyOf(plain));
}

const forbidden = listOfRanges(forbiddenRanges);
const privateList = listOfRanges(privateRanges);

/**
 * IPv4 addresses that a packet to this IPv6 address may end at: mapped and compatible (RFC 4291), translated
 * (RFC 2765), NAT64 (RFC 6052, 8215), 6to4 (RFC 3056), Teredo's server and (inverted) client (RFC 4380), ISATAP (RFC 5214).
 */
function embeddedAddresses(address: string): string[] {
  if (isIP(address) !== 6) return [];
  const bytes = bytesOf(address);
  const starts = (...prefix: number[]) => prefix.every((byte, index) => bytes[index] === byte);
  const at = (offset: number, flip = 0) =>
    [0, 1, 2, 3].map((index) => (bytes[offset + index] ?? 0) ^ flip).join('.');
  if (starts(0, 0, 0, 0, 0, 0, 0, 0, 0, 0) || starts(0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff)) return [at(12)];
  if (starts(0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0)) return [at(12)];
  if (starts(0, 0x64, 0xff, 0x9b)) return [at(12)];
  if (starts(0x20, 0x02)) return [at(2)];
  if (starts(0x20, 0x01, 0, 0)) return [at(4), at(12, 0xff)];
  if ([0, 2].includes(bytes[8] ?? -1) && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe)
    return [at(12)];
  return [];
}

/** The 16 bytes of an IPv6 address in any of its spellings (RFC 4291, section 2.2); a zone is left out. */
function bytesOf(address: string): number[] {
  const [plain = ''] = address.split('%');
  const [head = '', tail] = expandDotted(plain).split('::');
  const front = groupsOf(head);
  const back = tail === undefined ? [] : groupsOf(tail);
  const zeros = new Array<number>(Math.max(0, 8 - front.length - back.length)).fill(0);
  return [...front, ...zeros, ...back].flatMap((group) => [group >> 8, group & 0xff]);
}

function groupsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

/** `::ffff:1.2.3.4` as `::ffff:102:304`. */
function expandDotted(address: string): string {
  return address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_whole, ...parts: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = parts.slice(0, 4).map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}
