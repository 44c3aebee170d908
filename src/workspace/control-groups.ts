import { readFile, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/**
 * Removes the workspace's control groups where it may have made them: at the root of each hierarchy, in this
 * process's own group and beside it. A group that is in use, or that does not exist, stays as it is.
 */
export async function removeControlGroups(name: string): Promise<void> {
  const parents = await possibleParents().catch(() => []);
  await Promise.all(parents.map((parent) => rmdir(join(parent, name)).catch(() => undefined)));
}

async function possibleParents(): Promise<string[]> {
  const own = await readFile('/proc/self/cgroup', 'utf8');
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' '));
  return own.split('\n').flatMap((line) => {
    const [, controllers = '', path = '/'] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    const mount = mounts.find(([, , type, options = '']) => {
      if (controllers === '') return type === 'cgroup2';
      return type === 'cgroup' && controllers.split(',').every((name) => options.split(',').includes(name));
    })?.[1];
    return mount === undefined ? [] : [mount, join(mount, path), dirname(join(mount, path))];
  });
}
