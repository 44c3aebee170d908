import {
  type AgentIdentity,
  deriveAgentKey,
  deriveSubkey,
  type MasterKey,
  type WireKey,
} from '#wire/keys.ts';
import { RouterError } from './errors.ts';
import type { KeySource } from './sources.ts';

/** The keys a router works with, derived once from each master. Every list has the current key first. */
export interface RouterKeys {
  readonly ready: boolean;
  agent(identity: AgentIdentity): readonly WireKey[];
  readonly sessionSeal: readonly WireKey[];
  /** For what people carry who are logged in. */
  readonly session: readonly WireKey[];
  readonly delegation: readonly WireKey[];
}

/** The getters throw NoKeys while the master key is not known. */
export function createRouterKeys(source: KeySource): RouterKeys {
  let masters: readonly MasterKey[] = [];
  let agents = new Map<string, readonly WireKey[]>();
  let sessionSeal: readonly WireKey[] = [];
  let session: readonly WireKey[] = [];
  let delegation: readonly WireKey[] = [];

  function refresh(): void {
    const now = source.current();
    if (now.length === 0) throw new RouterError('NoKeys', 'The router has not received its keys yet.');
    if (now === masters) return;
    masters = now;
    agents = new Map();
    sessionSeal = now.map((master) => deriveSubkey(master, 'session-seal'));
    session = now.map((master) => deriveSubkey(master, 'session'));
    delegation = now.map((master) => deriveSubkey(master, 'delegation'));
  }
  return {
    get ready() {
      return source.current().length > 0;
    },
    agent(identity) {
      refresh();
      const name = `${identity.namespace}/${identity.name}/${identity.uid}`;
      const known = agents.get(name);
      if (known !== undefined) return known;
      const made = masters.map((master) => deriveAgentKey(master, identity));
      if (agents.size >= 10_000) agents.clear();
      agents.set(name, made);
      return made;
    },
    get session() {
      refresh();
      return session;
    },
    get sessionSeal() {
      refresh();
      return sessionSeal;
    },
    get delegation() {
      refresh();
      return delegation;
    },
  };
}
