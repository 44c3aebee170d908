import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import { type Clients, holdClients } from '../login/clients.ts';
import type { FlowOptions, TokenSet } from '../login/flow.ts';
import { LoginTokens } from '../login/login-tokens.ts';
import { holdPlaces } from '../login/places.ts';
import type { KnownClient } from '../login/registration.ts';
import { createPerson, type Person } from './person.ts';
import type { Vault } from './vault.ts';

export interface PeopleOptions extends FlowOptions {
  readonly clientId: string | undefined;
  readonly scopes: readonly string[] | undefined;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly log: Log;
}

/** Who logs in at the remote server, by who they are at the router. */
export interface People {
  /** Always the same object while the person has tokens in use, or is away to log in and not one of very many. */
  get(user: string): Person;
}

/** In memory; all others are on disk. */
const mostKnown = 1000;

export function holdPeople(options: PeopleOptions): People {
  const { vault, clock } = options;
  const known = new Map<string, Person>();
  const clients = keptClients(options);
  const places = holdPlaces(options);

  function meet(user: string): Person {
    const name = `person ${user}`;
    const tokens = new LoginTokens({
      ...options,
      ...{ clients, places },
      visit: undefined,
      kept: usable(vault.read(name), options),
      keep: (set) => void vault.write(name, set),
    });
    return createPerson(tokens, clock);
  }
  /** Those who are away to log in go last; the oldest of them begin again. */
  function makeRoom(): void {
    if (known.size <= mostKnown) return;
    const unused = [...known].filter(([, { isUsed }]) => !isUsed).slice(0, -1);
    const [user] = unused.find(([, { isAway }]) => !isAway) ?? unused[0] ?? [];
    if (user !== undefined) known.delete(user);
  }
  return {
    get(user) {
      const person = known.get(user) ?? meet(user);
      known.delete(user);
      known.set(user, person);
      makeRoom();
      return person;
    },
  };
}

const clientsName = 'clients';

function keptClients({ vault, clock }: PeopleOptions): Clients {
  const { clients } = (vault.read(clientsName) ?? {}) as { clients?: readonly KnownClient[] };
  return holdClients(
    () => clock.now(),
    clients,
    (all) => void vault.write(clientsName, { clients: all }),
  );
}

/** Tokens of another authorization server than the Agent now names, or of another client, are none. */
function usable(
  kept: Record<string, unknown> | undefined,
  { issuer, clientId }: PeopleOptions,
): TokenSet | undefined {
  const set = kept as TokenSet | undefined;
  if (set === undefined || (issuer !== undefined && !isSameIssuer(set.client.issuer, issuer)))
    return undefined;
  return clientId !== undefined && set.client.clientId !== clientId ? undefined : set;
}

function isSameIssuer(one: string, other: string): boolean {
  return new URL(one).href === new URL(other).href;
}
