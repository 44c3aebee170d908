import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { digestOf } from '#kit/digest.ts';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import { findEnvFile, readEnvFile } from './env-file.ts';
import type { StoredSecrets } from './sealed-file.ts';
import type { SecretStore } from './store.ts';

export interface SourcesOptions {
  /** Folder of the workspace, and the files in `.ploinky` whose change counts. */
  readonly root: string;
  readonly files: readonly string[];
  readonly store: Pick<SecretStore, 'read'>;
  /** What `ploinky up` was started with. */
  readonly environment: Readonly<Record<string, string>>;
  readonly uid: number;
  readonly log: Log;
}

interface Found {
  readonly text: string;
  readonly revision: string;
}

export interface WorkspaceSource {
  readonly name: string;
  readonly followsAliases: boolean;
  lookup(name: string): Found | undefined;
}

export interface WorkspaceSources {
  /** The store, the environment, the `.env` file. */
  readonly sources: readonly WorkspaceSource[];
  onChange(listener: () => void): () => void;
  close(): void;
}

/** What is known of the files; read again when one of them changes. */
interface Snapshot {
  readonly stored: StoredSecrets | undefined;
  /** Why there is no `stored`. */
  readonly problem: string;
  readonly envFile: string | undefined;
  readonly env: Readonly<Record<string, string>>;
}

/** Several changes of one command are read once. */
const settleMs = 50;

/** The places of a workspace where a name can stand, kept up to date by the file system's own notices. */
export async function openWorkspaceSources(options: SourcesOptions): Promise<WorkspaceSources> {
  let now = await look(options);
  const listeners = new Set<() => void>();
  let timer: NodeJS.Timeout | undefined;
  const again = () => {
    clearTimeout(timer);
    timer = setTimeout(() => void refresh(), settleMs);
  };
  const refresh = async () => {
    const next = await look(options);
    const isSame = digestOf(next) === digestOf(now);
    now = next;
    if (!isSame) for (const listener of listeners) listener();
  };
  const watchers = watchFolders(options, now.envFile, again);
  return {
    sources: sourcesOver(() => now, options.environment),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    },
  };
}

function sourcesOver(
  now: () => Snapshot,
  environment: Readonly<Record<string, string>>,
): readonly WorkspaceSource[] {
  return [
    {
      name: '.ploinky/.secrets',
      followsAliases: true,
      lookup(name) {
        const { stored, problem } = now();
        if (stored === undefined) throw new Error(problem);
        return found(stored.secrets, name);
      },
    },
    {
      name: 'the environment of `ploinky up`',
      followsAliases: false,
      lookup: (name) => found(environment, name),
    },
    { name: '.env', followsAliases: false, lookup: (name) => found(now().env, name) },
  ];
}

function found(texts: Readonly<Record<string, string>>, name: string): Found | undefined {
  const text = Object.hasOwn(texts, name) ? texts[name] : undefined;
  return text === undefined ? undefined : { text, revision: digestOf([name, text]) };
}

async function look({ store, root, uid, log }: SourcesOptions): Promise<Snapshot> {
  const envFile = await findEnvFile(root, uid);
  const env = await readEnvFile(envFile);
  try {
    return { stored: await store.read(), problem: '', envFile, env };
  } catch (error) {
    log.error('the secrets of the workspace cannot be read', { error });
    return { stored: undefined, problem: messageOf(error), envFile, env };
  }
}

/** The folders, not the files: a file that is replaced is another one. */
function watchFolders(
  { files, root, log }: SourcesOptions,
  envFile: string | undefined,
  onChange: () => void,
): FSWatcher[] {
  const names = new Set([...files.map((file) => basename(file)), '.env']);
  const folders = new Set([
    ...files.map(dirname),
    root,
    ...(envFile === undefined ? [] : [dirname(envFile)]),
  ]);
  return [...folders].flatMap((folder) => {
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => {
        if (name === null || names.has(name)) onChange();
      });
      watcher.on('error', (error) => log.warn('a folder cannot be watched', { folder, error }));
      return [watcher];
    } catch (error) {
      log.warn('a folder cannot be watched', { folder, error });
      return [];
    }
  });
}
