import type { Agent } from '#api/agent.ts';
import { readStored } from '#api/secrets.ts';
import type { KeptSecrets } from './home.ts';

/** One line of the list. No value is in it. */
export interface SecretLine {
  readonly name: string;
  readonly source: string;
  /** The name that it stands for. */
  readonly aliasOf?: string | undefined;
  readonly usedBy: readonly string[];
  readonly changed?: string | undefined;
}

/** A place and what is in it, in the order in which names are looked up. */
export interface KeptAt extends KeptSecrets {
  readonly place: string;
}

/** Everything that is kept or that an Agent asks for, by name. */
export function listSecrets(places: readonly KeptAt[], agents: readonly Agent[]): SecretLine[] {
  const users = usersOf(places, agents);
  const kept = places.flatMap(({ place, secrets, changed }) =>
    Object.entries(secrets).map(([name, text]): SecretLine => {
      const read = readStored(text);
      const aliasOf = 'alias' in read ? read.alias : undefined;
      return { name, source: place, aliasOf, usedBy: users.get(name) ?? [], changed: changed[name] };
    }),
  );
  const known = new Set(kept.map(({ name }) => name));
  const asked = [...users].filter(([name]) => !known.has(name));
  const elsewhere = asked.map(([name, usedBy]) => ({
    name,
    source: 'environment or .env, or missing',
    usedBy,
  }));
  return [...kept, ...elsewhere].sort((left, right) => (left.name < right.name ? -1 : 1));
}

/** Which Agents a name's value reaches, over aliases. */
export function usersOf(places: readonly KeptAt[], agents: readonly Agent[]): Map<string, string[]> {
  const users = new Map<string, string[]>();
  for (const { metadata, spec } of agents) {
    for (const name of new Set(
      (spec.env ?? []).flatMap(({ valueFrom }) => chainOf(valueFrom?.alias, places)),
    )) {
      users.set(name, [...(users.get(name) ?? []), metadata.name]);
    }
  }
  return users;
}

function chainOf(start: string | undefined, places: readonly KeptAt[]): string[] {
  const chain: string[] = [];
  for (let name = start; name !== undefined && !chain.includes(name); ) {
    chain.push(name);
    const text: string | undefined = places.find(({ secrets }) => Object.hasOwn(secrets, name ?? ''))
      ?.secrets[name];
    const read = text === undefined ? undefined : readStored(text);
    name = read !== undefined && 'alias' in read ? read.alias : undefined;
  }
  return chain;
}
