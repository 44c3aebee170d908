import type { Random } from '#kit/random.ts';
import type { WorkspacePaths } from '../paths.ts';
import { findEnvFile, readEnvFile } from './env-file.ts';
import { openSecretStore, type SecretStore } from './store.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The store of a workspace; its seed is in the environment or, as the Ploinky contract has it, in the nearest `.env`. */
export async function openWorkspaceSecrets(
  { root, secrets: path, masterKey: keyFile }: Pick<WorkspacePaths, 'root' | 'secrets' | 'masterKey'>,
  { env, uid, random }: { readonly env: Environment; readonly uid: number; readonly random: Random },
): Promise<SecretStore> {
  const file = await readEnvFile(await findEnvFile(root, uid));
  const seedOf = (name: string) => env[name] ?? file[name];
  return openSecretStore({
    path,
    master: {
      seed: seedOf('PLOINKY_MASTER_KEY'),
      previousSeed: seedOf('PLOINKY_PREVIOUS_MASTER_KEY'),
      keyFile,
    },
    random,
  });
}
