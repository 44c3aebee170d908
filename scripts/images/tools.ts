import { messageOf } from '#kit/errors.ts';
import { isInstalled, runProgram } from './program.ts';

/** Programs that build images without a daemon, and the Debian packages that have them. */
const tools = { buildah: 'buildah', debootstrap: 'debootstrap', tar: 'tar' };

/**
 * Installs the programs that are missing, where that is possible, or says in a sentence why images cannot be built
 * here.
 */
export async function ensureTools(progress: (message: string) => void): Promise<{ missing?: string }> {
  if (process.platform !== 'linux')
    return { missing: 'images are built on Linux; elsewhere use --with docker' };
  if (process.getuid?.() !== 0) return { missing: 'images are built by root, or use --with docker' };
  const missing = Object.entries(tools).filter(([program]) => !isInstalled(program));
  if (missing.length === 0) return {};
  const names = missing.map(([, name]) => name);
  if (!isInstalled('apt-get')) return { missing: `${names.join(', ')} must be installed` };
  progress(`Installing ${names.join(', ')}…`);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  const install = ['install', '-y', '--no-install-recommends', ...names];
  try {
    await runProgram('apt-get', ['update'], { env });
    await runProgram('apt-get', install, { env });
    return {};
  } catch (error) {
    return { missing: `${names.join(', ')} cannot be installed: ${messageOf(error)}` };
  }
}
