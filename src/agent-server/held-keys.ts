import type { AgentServerConfig } from '#api/agent-server-config.ts';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { WireKey } from '#wire/keys.ts';
import { createReplayWindow } from '#wire/replay.ts';
import { createVerifier, type Verifier } from '#wire/token.ts';
import { readKeys } from './config/agent-config.ts';
import { AgentServerError } from './errors.ts';
import { isOpenToOthers, type ListenTarget } from './http/listen.ts';

export interface HeldKeysOptions {
  readonly config: AgentServerConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly listen: ListenTarget;
}

export interface HeldKeys {
  readonly verifier: Verifier;
  current(): readonly WireKey[];
  use(config: AgentServerConfig): void;
}

/** The agent's keys: what verifies tokens and answers challenges. */
export function holdKeys({ config, clock, log, listen: place }: HeldKeysOptions): HeldKeys {
  let keys = readKeys(config);
  const { principal: audience, instance, uid } = config.agent;
  const replay = createReplayWindow({ clock });
  // Routers of other machines have other clocks; one on this machine has the same.
  const skewMs = isOpenToOthers(place) ? 30_000 : 0;
  const verifier = createVerifier({ keys, audience, instance, clock, replay, skewMs });
  return {
    verifier,
    current: () => keys,
    use(next) {
      if (next.agent.uid !== uid || next.agent.principal !== audience) {
        throw new AgentServerError('InvalidConfig', `agent: this is not the configuration of ${audience}`);
      }
      const read = readKeys(next);
      verifier.useKeys(read);
      const kids = read.map(({ kid }) => kid);
      if (kids.join() !== keys.map(({ kid }) => kid).join()) log.info('The keys are others now', { kids });
      keys = read;
    },
  };
}
