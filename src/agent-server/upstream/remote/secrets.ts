import type { AgentServerConfig, UpstreamSecrets } from '#api/agent-server-config.ts';
import { digestOf } from '#kit/digest.ts';

/** What a remote upstream is asked with, as the newest configuration has it. */
export interface HeldSecrets {
  /** The same object until something in it has changed. */
  readonly current: () => UpstreamSecrets;
  /** What is undefined changes nothing. True: something has changed. */
  use(next: AgentServerConfig['upstream']): boolean;
}

export function holdUpstreamSecrets({ upstream }: Pick<AgentServerConfig, 'upstream'>): HeldSecrets {
  let held: UpstreamSecrets = upstream ?? { headers: {} };
  let digest = digestOf(held);
  return {
    current: () => held,
    use(next) {
      if (next === undefined || digestOf(next) === digest) return false;
      held = next;
      digest = digestOf(next);
      return true;
    },
  };
}
