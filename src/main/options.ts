import { parseArgs } from 'node:util';
import { CodedError, messageOf } from '#kit/errors.ts';

/**
 * Flags of a main file, each `--name value`. Flags without a default must be given. Throws CodedError `Usage` that
 * names the flag which is unknown, lacks its value or is missing.
 */
export function parseFlags<Name extends string>(
  args: readonly string[],
  flags: Readonly<Record<Name, string | undefined>>,
): Record<Name, string> {
  const names = Object.keys(flags) as Name[];
  const values = readArguments(args, names);
  const found = names.map((name) => {
    const value = values[name] ?? flags[name];
    if (typeof value !== 'string') throw usage(`missing --${name}`, `Give --${name} VALUE.`);
    return [name, value] as const;
  });
  return Object.fromEntries(found) as Record<Name, string>;
}

function readArguments(args: readonly string[], names: readonly string[]) {
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]));
  try {
    return parseArgs({ args: [...args], options, strict: true }).values;
  } catch (error) {
    throw usage(messageOf(error), `Known flags: ${names.map((name) => `--${name}`).join(', ')}.`);
  }
}

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** `HOST:PORT` or `[V6]:PORT`. Throws Usage. */
export function parseHostPort(flag: string, text: string): HostPort {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port > 65_535) {
    throw usage(`--${flag} must be HOST:PORT, not "${text}"`, 'An IPv6 address stands in brackets.');
  }
  return { host, port };
}

/** A whole number within bounds, both included. Throws Usage. */
export function parseWhole(flag: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw usage(`--${flag} must be a whole number from ${min} to ${max}, not "${text}"`);
}

/** One of a few words. Throws Usage. */
export function parseChoice<Choice extends string>(
  flag: string,
  text: string,
  choices: readonly Choice[],
): Choice {
  const found = choices.find((choice) => choice === text);
  if (found === undefined) throw usage(`--${flag} must be ${choices.join(' or ')}, not "${text}"`);
  return found;
}

/** Parts separated by commas; [] for an empty text. */
export function splitList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** `name=NUMBER,name=NUMBER`, each name one of `defaults`, each number at least 1, or 0 where that is one. Throws Usage. */
export function parseLimits<Limits extends object>(
  flag: string,
  text: string,
  defaults: Limits,
  mayBeZero: readonly (keyof Limits)[] = [],
): Partial<Limits> {
  const entries = splitList(text).map((part) => {
    const [name = '', value = '', ...rest] = part.split('=');
    if (!Object.hasOwn(defaults, name)) {
      const known = Object.keys(defaults).join(', ');
      throw usage(`--${flag}: there is no limit "${name}"`, `Limits are ${known}.`);
    }
    const isZero = value === '0' && mayBeZero.includes(name as keyof Limits);
    if (rest.length > 0 || !(isZero || /^[1-9]\d{0,14}$/.test(value))) {
      throw usage(`--${flag}: ${name} must be a whole number above 0, not "${value}"`);
    }
    return [name, Number(value)] as const;
  });
  return Object.fromEntries(entries) as Partial<Limits>;
}

/** `namespace=host+host,…`: the hosts that Routes of a namespace may claim. Throws Usage. */
export function parseHostClaims(flag: string, text: string): Record<string, string[]> {
  const claims = splitList(text).map((part) => {
    const [namespace = '', hosts = '', ...rest] = part.split('=');
    const list = hosts.split('+').filter((host) => host !== '');
    if (namespace === '' || list.length === 0 || rest.length > 0) {
      throw usage(`--${flag} must be NAMESPACE=HOST+HOST,…, not "${part}"`);
    }
    return [namespace, list] as const;
  });
  return Object.fromEntries(claims);
}

function usage(message: string, remedy?: string): CodedError {
  return new CodedError('Usage', message, remedy === undefined ? {} : { remedy });
}
