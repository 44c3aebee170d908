import { isIP } from 'node:net';
import { classifyAddress } from '#api/classify-address.ts';
import { type EgressRule, egressAllows } from '#api/egress.ts';
import { listsPrivateRange } from './addresses.ts';
import type { Caller } from './callers.ts';
import { EgressRefusal } from './errors.ts';

export interface Target {
  /** As the client wrote it: a name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Throws EgressRefusal `NotAllowed` unless a rule of the caller names the target. Before any name is resolved. */
export function requireRule(caller: Caller, target: Target): void {
  if (egressAllows(caller.rules, target.host, target.port)) return;
  const shown = isIP(target.host) === 6 ? `[${target.host}]` : target.host;
  const entry =
    isIP(target.host) === 0
      ? `host: ${target.host}`
      : `cidr: ${target.host}/${isIP(target.host) === 4 ? 32 : 128}`;
  throw new EgressRefusal(
    'NotAllowed',
    `${describe(caller)} may not reach ${shown}:${target.port}. To allow it, add to spec.network.${fieldOf(caller)} of the Agent:\n` +
      `  - {${entry}, ports: [${target.port}]}`,
    { phrase: `Not allowed: add ${shown} port ${target.port} to spec.network.${fieldOf(caller)}` },
  );
}

/**
 * The addresses among `addresses` that may be connected to, in their order. Throws EgressRefusal
 * `PrivateAddress` when there is none: a name must not lead into this machine or a private network.
 */
export function allowedAddresses(
  caller: Caller,
  target: Target,
  addresses: readonly string[],
): readonly string[] {
  const isLiteral = isIP(target.host) !== 0;
  const allowed = addresses.filter((address) => {
    const kind = classifyAddress(address);
    if (kind === 'public') return true;
    return kind === 'private' && isLiteral && isListed(caller.rules, address, target.port);
  });
  if (allowed.length > 0) return allowed;
  const found = addresses.join(', ');
  throw new EgressRefusal(
    'PrivateAddress',
    `${target.host} is ${found}: ${describe(caller)} may not reach this machine, its link or a private network by a host rule. ` +
      `A private range is reached only by its own numbers: list it as cidr in spec.network.${fieldOf(caller)} and use the address.`,
  );
}

function isListed(rules: readonly EgressRule[], address: string, port: number): boolean {
  return rules.some((rule) => (rule.ports ?? [443]).includes(port) && listsPrivateRange(rule, address));
}

function describe({ namespace, name, purpose }: Caller): string {
  return purpose === 'run' ? `Agent ${namespace}/${name}` : `the install step of Agent ${namespace}/${name}`;
}

function fieldOf({ purpose }: Caller): string {
  return purpose === 'run' ? 'egress' : 'installEgress';
}
