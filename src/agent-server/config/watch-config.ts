import { readFile } from 'node:fs/promises';
import type { AgentServerConfig } from '#api/agent-server-config.ts';
import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import { parseAgentConfig } from './agent-config.ts';
import { findConfigFile } from './config-file.ts';

export interface WatchConfigOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds between two looks. */
  readonly pollMs: number;
  /** Called with the content now and with each new one. What it throws is logged; the content is not tried again. */
  readonly onConfig: (config: AgentServerConfig) => void;
}

/**
 * Looks at the configuration file for as long as the process lives: a kubelet puts a new version of a mounted Secret
 * under the same path by swapping a link two folders above, which no watch of the file would tell. A version
 * that cannot be read leaves the last good one in use. Returns the stop function.
 */
export function watchConfig(options: WatchConfigOptions): () => void {
  const { path, clock, log, pollMs } = options;
  let stopped = false;
  let cancel = () => {};
  let stamp: string | undefined;

  async function look(): Promise<void> {
    const found = await findConfigFile([path]);
    if (found === undefined || found.stamp === stamp) return;
    stamp = found.stamp;
    try {
      options.onConfig(parseAgentConfig(await readFile(path, 'utf8')));
    } catch (error) {
      log.error('The new configuration cannot be used', { error: messageOf(error) });
    }
  }
  function again(): void {
    if (!stopped) cancel = clock.after(pollMs, () => void look().finally(again));
  }
  void look().finally(again);
  return () => {
    stopped = true;
    cancel();
  };
}
