import type { Agent } from '#api/agent.ts';
import type { Secret } from '#api/meta.ts';
import { nobody, type People, readPeople, usersDataKey, usersSecretType } from '#api/people.ts';
import { agentResource, routeResource, secretResource } from '#api/resources.ts';
import type { Route } from '#api/route.ts';
import type { Client } from '#kube/client.ts';
import { isConflict } from '#kube/errors.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import type { GlobalOptions } from '../target.ts';

export interface BookOptions extends GlobalOptions {
  readonly agent?: string;
  readonly route?: string;
  readonly secret?: string;
}

/** A Secret with users, by its place. */
export interface Book {
  readonly namespace: string;
  readonly secret: string;
  /** Why users of the Secret do not come in where they were asked for. */
  readonly unused?: string;
}

/** Which Secret is meant: `--secret`, or what the Agent or Route of the option names. Throws `usage` and `notFound`. */
export async function findBook(client: Client, namespace: string, options: BookOptions): Promise<Book> {
  const { agent, route, secret } = options;
  if ([agent, route, secret].filter((given) => given !== undefined).length !== 1)
    throw new CliError(
      exitCodes.usage,
      'whose users?',
      'Give one of --agent NAME, --route NAME and --secret NAME.',
    );
  if (secret !== undefined) return { namespace, secret };
  const name = agent ?? route ?? '';
  const resource = agent === undefined ? routeResource : agentResource;
  const object = await client.get<Agent | Route>(resource, { namespace, name });
  const { mode, usersSecretRef } = object.spec.auth;
  const unused = `${object.kind} ${name} has auth.mode ${mode}: nobody logs in there with a password or key while it is not pwd`;
  return {
    ...{ namespace, secret: usersSecretRef?.name ?? `${name}-users` },
    ...(mode !== 'pwd' && { unused }),
  };
}

/** Throws `refused` where users and keys would be of no use, before anything is asked or written. */
export function requireUsed({ secret, unused }: Book): void {
  if (unused !== undefined)
    throw new CliError(
      exitCodes.refused,
      unused,
      `Set it first. \`--secret ${secret}\` writes to that Secret all the same.`,
    );
}

/** Nobody when there is no such Secret. Throws when it holds something else. */
export async function readBook(client: Client, { namespace, secret: name }: Book): Promise<People> {
  return peopleOf(await client.find<Secret>(secretResource, { namespace, name }), name);
}

const mostTries = 5;

/**
 * Changes what is in the Secret, which is made when it is absent. What somebody else wrote meanwhile is read again and
 * changed too; `change` may be called more than once.
 */
export async function changeBook(
  client: Client,
  book: Book,
  change: (people: People) => People,
): Promise<void> {
  const { namespace, secret: name } = book;
  for (let tries = 1; ; tries += 1) {
    const current = await client.find<Secret>(secretResource, { namespace, name });
    const text = JSON.stringify(change(peopleOf(current, name)));
    const read = readPeople(text);
    if ('problem' in read) throw new CliError(exitCodes.refused, `the users ${read.problem}`);
    const data = { ...current?.data, [usersDataKey]: Buffer.from(text).toString('base64') };
    try {
      if (current === undefined) {
        const metadata = { name, namespace };
        const secret: Secret = { apiVersion: 'v1', kind: 'Secret', metadata, type: usersSecretType, data };
        await client.create(secretResource, secret);
      } else await client.update<Secret>(secretResource, { ...current, data });
      return;
    } catch (error) {
      if (!isConflict(error) || tries === mostTries) throw error;
    }
  }
}

function peopleOf(secret: Secret | undefined, name: string): People {
  if (secret === undefined) return nobody;
  if (secret.type !== usersSecretType)
    throw new CliError(
      exitCodes.refused,
      `Secret ${name} is not of type ${usersSecretType}`,
      'Choose another name.',
    );
  const read = readPeople(Buffer.from(secret.data?.[usersDataKey] ?? '', 'base64').toString('utf8'));
  if ('people' in read) return read.people;
  throw new CliError(
    exitCodes.refused,
    `Secret ${name}: its users ${read.problem}`,
    'Mend or delete the Secret.',
  );
}
