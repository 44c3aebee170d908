import type { ApiKey, People, Person } from '#api/people.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';

/** Pure changes of a list of people. Each throws a CliError that says what is wrong. */
export function addPerson(people: People, person: Person): People {
  if (people.users.some(({ username }) => username === person.username))
    throw new CliError(
      exitCodes.refused,
      `user ${person.username} exists already`,
      'ploinky user passwd changes the password.',
    );
  return { ...people, users: [...people.users, person] };
}

/** With the person go their keys. */
export function removePerson(people: People, username: string): People {
  const { id } = personNamed(people, username);
  return {
    ...people,
    users: people.users.filter((user) => user.id !== id),
    keys: people.keys.filter((key) => key.user !== id),
  };
}

/** What is another one in `change` ends every session. */
export function changePerson(people: People, username: string, change: Partial<Person>): People {
  const person = personNamed(people, username);
  const changed = { ...person, ...change, rev: person.rev + 1 };
  return { ...people, users: people.users.map((user) => (user === person ? changed : user)) };
}

export function addKey(people: People, username: string, key: Omit<ApiKey, 'user'>): People {
  const person = personNamed(people, username);
  const beyond = key.roles?.find((role) => !person.roles.includes(role));
  if (beyond !== undefined)
    throw new CliError(
      exitCodes.usage,
      `${username} has no role ${beyond}`,
      `A key has at most the roles of its user: ${person.roles.join(', ') || 'none'}.`,
    );
  return { ...people, keys: [...people.keys, { ...key, user: person.id }] };
}

export function removeKey(people: People, id: string): People {
  if (!people.keys.some((key) => key.id === id))
    throw new CliError(exitCodes.notFound, `there is no key ${id}`, '`ploinky key list` shows the ids.');
  return { ...people, keys: people.keys.filter((key) => key.id !== id) };
}

export function personNamed(people: People, username: string): Person {
  const person = people.users.find((user) => user.username === username);
  if (person !== undefined) return person;
  throw new CliError(
    exitCodes.notFound,
    `there is no user ${username}`,
    '`ploinky user list` shows those there are.',
  );
}
