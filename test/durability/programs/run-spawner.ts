import { Socket } from 'node:net';
import { closeInheritedDescriptors } from '#kit/descriptors.ts';

/** What the programs of this folder are when they are started as `spawner`, as the agent-server's bundle is. */
export async function runSpawnerOn(generation: string): Promise<void> {
  const { runSpawner } = await import('#agent-server/spawner/spawner.ts');
  closeInheritedDescriptors([3]);
  runSpawner({
    connection: new Socket({ fd: 3 }),
    generation,
    reaper: undefined,
    onEnd: () => process.kill(process.pid, 'SIGKILL'),
  });
}
