import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where built programs and the state of test clusters are kept: outside every checkout. */
export function cacheFolder(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'ploinky');
}

/** Everything of one local cluster: its keys, logs, sockets, images, volumes. Short: sockets lie in it. */
export function clusterFolder(name: string): string {
  return join(cacheFolder(), 'cluster', name);
}
