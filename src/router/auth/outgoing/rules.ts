import { isIP } from 'node:net';
import { classifyAddress, inRanges, listOfRanges } from '#api/classify-address.ts';
import { OutgoingError } from './errors.ts';

/** Which identity providers the router asks, besides those with https and a public address. */
export interface OutgoingRules {
  /** Those on this machine too, with http or https: true for a workspace, never for a pod. */
  readonly loopback: boolean;
  /**
   * Hosts that may have a private address: `id.example.org` or `id.example.org:8443`, with https; with
   * `http://` before it, http is used where a URL says so.
   */
  readonly hosts: readonly string[];
}

/** The URL as it is asked. Throws OutgoingError `OutgoingRefused` for one that is not, before any name is resolved. */
export function checkUrl(text: string, rules: OutgoingRules): URL {
  if (!URL.canParse(text)) throw refused(`"${text.slice(0, 300)}" is no URL`);
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') throw refused('a URL with a user or password in it');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refused(`${url.protocol} is not https`);
  const isOpen =
    url.protocol === 'https:' ||
    (isLoopbackName(hostOf(url)) && rules.loopback) ||
    namesHost(url, rules.hosts, 'http:');
  if (!isOpen)
    throw refused(`${url.origin} is not https`, `Use https, or start the router with ${flag(url)}.`);
  const host = hostOf(url);
  if (isIP(host) !== 0) allowedAddresses(url, [host], rules);
  return url;
}

/** Those of `addresses` that may be connected to for a URL; throws OutgoingError `OutgoingRefused` when none may. */
export function allowedAddresses(
  url: URL,
  addresses: readonly string[],
  rules: OutgoingRules,
): readonly string[] {
  const isNamed = namesHost(url, rules.hosts, 'https:') || namesHost(url, rules.hosts, 'http:');
  const isLocal = isLoopbackName(hostOf(url));
  const allowed = addresses.filter((address) => {
    if (isLocal) return (rules.loopback || isNamed) && inRanges(loopback, address);
    const kind = classifyAddress(address);
    return kind === 'public' || (kind === 'private' && isNamed);
  });
  if (allowed.length > 0) return allowed;
  throw refused(
    `${url.host} is ${addresses.join(', ') || 'no address'}: the router asks no provider on this machine, its link or a private network by itself`,
    `If the provider is meant to be there, start the router with ${flag(url)}; link-local and metadata addresses stay closed.`,
  );
}

/** The host without the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

const loopback = listOfRanges(['127.0.0.0/8', '::1/128']);

function isLoopbackName(host: string): boolean {
  return host === 'localhost' || inRanges(loopback, host);
}

function namesHost(url: URL, hosts: readonly string[], scheme: 'http:' | 'https:'): boolean {
  return hosts.some((entry) => {
    const isPlain = entry.startsWith('http://');
    if (isPlain !== (scheme === 'http:')) return false;
    const plain = entry.replace(/^https?:\/\//, '').toLowerCase();
    return plain === url.host || plain === url.hostname || plain === `${url.hostname}:${portOf(url)}`;
  });
}

export function portOf({ port, protocol }: URL): number {
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}

function flag(url: URL): string {
  return `--issuer-hosts ${url.protocol === 'http:' ? `http://${url.host}` : url.host}`;
}

function refused(what: string, remedy?: string): OutgoingError {
  return new OutgoingError('OutgoingRefused', `not asked: ${what}`, remedy === undefined ? {} : { remedy });
}
