import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

/** The proxies whose word counts; each an address or a range. Throws for anything else. */
export function trustList(proxies: readonly string[]): BlockList {
  const list = new BlockList();
  for (const proxy of proxies) {
    const [address = '', bits] = proxy.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (isIP(address) === 0) throw new TypeError(`"${proxy}" is no address and no range`);
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/** Who sends this: of `X-Forwarded-For` the last address that is no trusted proxy, when one of those sent it. */
export function clientAddress({ socket, headers }: IncomingMessage, trusted: BlockList): string {
  let address = plain(socket.remoteAddress ?? '');
  const forwarded = String(headers['x-forwarded-for'] ?? '').split(',');
  for (let hop = forwarded.pop(); hop !== undefined && isTrusted(address, trusted); hop = forwarded.pop()) {
    const next = plain(hop.trim());
    if (isIP(next) === 0) break;
    address = next;
  }
  return address;
}

function isTrusted(address: string, trusted: BlockList): boolean {
  const version = isIP(address);
  return version !== 0 && trusted.check(address, version === 6 ? 'ipv6' : 'ipv4');
}

function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

/** What one client has: of IPv6 whole networks are given out, whose 2^64 addresses are its own. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.replace(/%.*$/, '').toLowerCase().split('::');
  const front = groups(head);
  const back = groups(tail ?? '');
  const gap = tail === undefined ? 0 : Math.max(0, 8 - front.length - back.length);
  const all = [...front, ...Array.from({ length: gap }, () => '0'), ...back];
  return `${all.slice(0, 4).join(':')}::/64`;
}

/** Without leading zeros; the last two of an address may be written as IPv4. */
function groups(text: string): string[] {
  return text
    .split(':')
    .filter((group) => group !== '')
    .flatMap((group) => (group.includes('.') ? [group, ''] : [group.replace(/^0+(?=.)/, '')]));
}
