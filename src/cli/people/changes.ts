import type { ApiKey, People, Person } from '#api/people.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';

/**
 * Pure changes of a list of people. Each throws a CliError that says what is wrong; `same` are the options that the
 * commands of its remedy need to be about the same people.
 */
export function addPerson(people: People, person: Person, same: string): People {
  if (people.users.some(({ username }) => username === person.username))
    throw new CliError(
      exitCodes.refused,
      `user ${person.username} exists already`,
      `\`ploinky user passwd ${person.username}${same}\` changes the password.`,
    );
  return { ...people, users: [...people.users, person] };
}

/** With the person go their keys. */
export function removePerson(people: People, username: string, same: string): People {
  const { id } = personNamed(people, username, same);
  return {
    ...people,
    users: people.users.filter((user) => user.id !== id),
    keys: people.keys.filter((key) => key.user !== id),
  };
}

/** What is another one in `change` ends every session. */
export function changePerson(
  people: People,
  username: string,
  change: Partial<Person>,
  same: string,
): People {
  const person = personNamed(people, username, same);
  const changed = { ...person, ...change, rev: person.rev + 1 };
  return { ...people, users: people.users.map((user) => (user === person ? changed : user)) };
}

export function addKey(people: People, username: string, key: Omit<ApiKey, 'user'>, same: string): People {
  const person = personNamed(people, username, same);
  const beyond = key.roles?.find((role) => !person.roles.includes(role));
  if (beyond !== undefined)
    throw new CliError(
      exitCodes.usage,
      `${username} has no role ${beyond}`,
      `A key has at most the roles of its user: ${person.roles.join(', ') || 'none'}.`,
    );
  return { ...people, keys: [...people.keys, { ...key, user: person.id }] };
}

/** The key by its id, or by its name where that is one key's alone. */
export function removeKey(people: People, asked: string, same: string): People {
  const { id } = keyNamed(people, asked, same);
  return { ...people, keys: people.keys.filter((key) => key.id !== id) };
}

function keyNamed({ keys }: People, asked: string, same: string): ApiKey {
  const known = keys.find(({ id }) => id === asked);
  if (known !== undefined) return known;
  const [first, ...others] = keys.filter(({ name }) => name === asked);
  if (first === undefined)
    throw new CliError(
      exitCodes.notFound,
      `there is no key ${asked}`,
      `\`ploinky key list${same}\` shows those there are.`,
    );
  if (others.length === 0) return first;
  throw new CliError(
    exitCodes.usage,
    `${others.length + 1} keys have the name ${asked}`,
    `Give the id of one: ${[first, ...others].map(({ id }) => id).join(', ')}; \`ploinky key list${same}\` shows whose they are.`,
  );
}

export function personNamed(people: People, username: string, same: string): Person {
  const person = people.users.find((user) => user.username === username);
  if (person !== undefined) return person;
  throw new CliError(
    exitCodes.notFound,
    `there is no user ${username}`,
    `\`ploinky user list${same}\` shows those there are.`,
  );
}
