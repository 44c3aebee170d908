import { secretsChangedAnnotation } from '#api/labels.ts';
import type { Secret } from '#api/meta.ts';
import { secretResource } from '#api/resources.ts';
import { secretsSecretName } from '#api/secrets.ts';
import { isObject } from '#kit/json.ts';
import type { Client } from '#kube/client.ts';
import { isAlreadyExists, isConflict } from '#kube/errors.ts';
import type { Cli } from '../context.ts';
import { withCluster, withSession } from '../session.ts';
import { type GlobalOptions, targetOf } from '../target.ts';

/** Secrets by name, as they are stored: a value, or `$OTHER`. */
export interface KeptSecrets {
  readonly secrets: Readonly<Record<string, string>>;
  /** When each was set, ISO 8601, as far as that is known. */
  readonly changed: Readonly<Record<string, string>>;
}

/** Where `ploinky secret` keeps what it is given. */
export interface SecretHome {
  /** For people. */
  readonly place: string;
  /** Of the workspace's file. */
  readonly path?: string;
  read(): Promise<KeptSecrets>;
  /** One change after the other. Where there still is the text `anew`, which is not encrypted yet, it is not read. */
  change(
    edit: (kept: KeptSecrets) => KeptSecrets,
    options?: { readonly anew?: string | undefined },
  ): Promise<void>;
}

/** The file of the workspace, which need not be up, or the Secret of the cluster's namespace. */
export async function withHome<T>(
  cli: Cli,
  options: GlobalOptions,
  use: (home: SecretHome) => Promise<T>,
): Promise<T> {
  const target = targetOf(options, cli.calledAs);
  if (target.kind === 'cluster') {
    return withCluster(cli, options, ({ client, namespace }) => use(secretHome(client, namespace)));
  }
  const workspace = await cli.openWorkspace(target.folder);
  const store = await workspace.openSecrets();
  return use({ ...store, place: '.ploinky/.secrets' });
}

/** The same with what leads to the Agents; undefined when the workspace is not up. */
export async function whoUses<T>(
  cli: Cli,
  options: GlobalOptions,
  use: (session: { readonly client: Client; readonly namespace: string } | undefined) => Promise<T>,
): Promise<T> {
  const target = targetOf(options, cli.calledAs);
  if (target.kind === 'workspace') {
    const workspace = await cli.openWorkspace(target.folder);
    if ((await workspace.running()) === undefined) return use(undefined);
  }
  return withSession(cli, options, use);
}

const mostTries = 5;

/** The Secret's keys are the names. */
export function secretHome(client: Client, namespace: string): SecretHome {
  const key = { namespace, name: secretsSecretName };
  const find = () => client.find<Secret>(secretResource, key);
  async function change(edit: (kept: KeptSecrets) => KeptSecrets, tries = 1): Promise<void> {
    const before = await find();
    const next = withKept(before ?? emptySecret(namespace), edit(keptOf(before)));
    try {
      await (before === undefined
        ? client.create(secretResource, next)
        : client.update(secretResource, next));
    } catch (error) {
      if (tries >= mostTries || !(isConflict(error) || isAlreadyExists(error))) throw error;
      await change(edit, tries + 1);
    }
  }
  return {
    place: `Secret ${namespace}/${secretsSecretName}`,
    read: async () => keptOf(await find()),
    change: (edit) => change(edit),
  };
}

function emptySecret(namespace: string): Secret {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: secretsSecretName, namespace } };
}

function keptOf(secret: Secret | undefined): KeptSecrets {
  const entries = Object.entries(secret?.data ?? {});
  return {
    secrets: Object.fromEntries(
      entries.map(([name, data]) => [name, Buffer.from(data, 'base64').toString('utf8')]),
    ),
    changed: changesOf(secret),
  };
}

function changesOf(secret: Secret | undefined): Readonly<Record<string, string>> {
  try {
    const value: unknown = JSON.parse(secret?.metadata.annotations?.[secretsChangedAnnotation] ?? '{}');
    return isObject(value) ? (value as Record<string, string>) : {};
  } catch {
    return {};
  }
}

/** What was not changed stays as it is: it may be bytes that are no text. */
function withKept(secret: Secret, { secrets, changed }: KeptSecrets): Secret {
  const before = keptOf(secret).secrets;
  const data = Object.entries(secrets).map(([name, text]) => {
    const stays = before[name] === text ? secret.data?.[name] : undefined;
    return [name, stays ?? Buffer.from(text).toString('base64')];
  });
  const annotations = { ...secret.metadata.annotations, [secretsChangedAnnotation]: JSON.stringify(changed) };
  return { ...secret, metadata: { ...secret.metadata, annotations }, data: Object.fromEntries(data) };
}
