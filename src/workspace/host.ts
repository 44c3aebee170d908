import { tmpdir } from 'node:os';
import { resolveRoot } from './folders.ts';
import { type HostFacts, type WorkspacePaths, workspacePaths } from './paths.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** This machine's facts. Where there are no user ids (Windows) there is no workspace either. */
export function hostFacts(env: Environment): HostFacts {
  const uid = process.getuid?.();
  if (uid === undefined) throw new Error('a workspace needs a system with user ids');
  return { uid, xdgRuntimeDir: env['XDG_RUNTIME_DIR'] || undefined, tmpdir: tmpdir() };
}

/** The paths of the workspace in `folder`, links resolved. Throws RootMissing. */
export async function locateWorkspace(folder: string, env: Environment): Promise<WorkspacePaths> {
  return workspacePaths(await resolveRoot(folder), hostFacts(env));
}
