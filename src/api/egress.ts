import { BlockList, isIP } from 'node:net';
import type { AgentSpec } from './agent.ts';

/** One thing that may be reached through the egress proxy: a host or an address range. */
export interface EgressRule {
  /** Exact name, or `*.` and a name: any name below it, not the name itself. Case does not matter. */
  readonly host?: string;
  /** Address range; matches only when the client asked for an address. */
  readonly cidr?: string;
  /** Default: 443. */
  readonly ports?: readonly number[];
}

const defaultPorts: readonly number[] = [443];

/**
 * What a running agent may reach. Empty: nothing. A remote upstream counts as listed, and so do the authorization
 * server and the store of blobs that the spec names; not what their answers lead to, and no address.
 */
export function runEgress(
  spec: Pick<AgentSpec, 'network' | 'mcp'> & Partial<Pick<AgentSpec, 'storage'>>,
): EgressRule[] {
  const { url, oauth } = spec.mcp?.upstream ?? {};
  const named = [url, oauth?.issuer, storeOf(spec.storage?.blobs?.s3)];
  return [...spec.network.egress.map(toRule), ...named.flatMap(namedHost)];
}

type S3Spec = NonNullable<NonNullable<AgentSpec['storage']['blobs']>['s3']>;

function storeOf(s3: S3Spec | undefined): string | undefined {
  if (s3 === undefined || s3.pathStyle) return s3?.endpoint;
  return s3.endpoint.replace('://', `://${s3.bucket}.`);
}

function namedHost(address: string | undefined): EgressRule[] {
  const url = address === undefined ? null : URL.parse(address);
  if (url === null || isIP(normalize(url.hostname)) !== 0 || url.hostname.includes('*')) return [];
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  return [{ host: url.hostname, ports: [port] }];
}

/** What the install step of an agent may reach. */
export function installEgress(spec: Pick<AgentSpec, 'network'>): EgressRule[] {
  return spec.network.installEgress.map(toRule);
}

/**
 * Whether a rule lets `host` be reached at `port`. `host` is what the client asked for: a name (any case, a
 * trailing dot counts for nothing) or an address (IPv6 with or without brackets). It does NOT resolve names
 * and does NOT refuse private ranges: the proxy does both, whatever the rules say.
 */
export function egressAllows(rules: readonly EgressRule[], host: string, port: number): boolean {
  const asked = normalize(host);
  if (asked === '') return false;
  return rules.some((rule) => (rule.ports ?? defaultPorts).includes(port) && matchesTarget(rule, asked));
}

function matchesTarget(rule: EgressRule, asked: string): boolean {
  if (rule.cidr !== undefined) return isInRange(asked, rule.cidr);
  return rule.host !== undefined && isIP(asked) === 0 && matchesHost(asked, normalize(rule.host));
}

function matchesHost(asked: string, pattern: string): boolean {
  if (!pattern.startsWith('*.')) return asked === pattern;
  const suffix = pattern.slice(1);
  return asked.endsWith(suffix) && asked.length > suffix.length && !asked.startsWith('.');
}

function isInRange(address: string, cidr: string): boolean {
  const [network = '', prefix = ''] = cidr.split('/');
  const family = isIP(network);
  if (family === 0 || isIP(address) !== family || !/^[0-9]+$/.test(prefix)) return false;
  if (Number(prefix) > (family === 4 ? 32 : 128)) return false;
  const range = new BlockList();
  range.addSubnet(network, Number(prefix), family === 4 ? 'ipv4' : 'ipv6');
  return range.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

function normalize(host: string): string {
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  return bare.toLowerCase().replace(/\.$/, '');
}

function toRule(rule: AgentSpec['network']['egress'][number]): EgressRule {
  return {
    ...(rule.host === undefined ? {} : { host: rule.host }),
    ...(rule.cidr === undefined ? {} : { cidr: rule.cidr }),
    ...(rule.ports === undefined ? {} : { ports: rule.ports }),
  };
}
