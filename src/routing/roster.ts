import { areSameLabels, type Labels, type Selector } from './selector.ts';
import { createGroupIndex, type Group, groupOf } from './selector-groups.ts';
import { changeNames, type SortedNames } from './sorted-names.ts';
import type { Verdict } from './verdict.ts';

/** How agents are chosen: by name, or by a selector, which is the same as another one when its key is. */
export type Choice = { readonly agents: SortedNames } | { readonly selector: Selector; readonly key: string };

export interface Selection {
  /** Names of the chosen agents. The same list as before while the choice is the same. */
  readonly names: SortedNames;
  readonly verdict: Verdict;
}

/**
 * The Agents of one namespace, and who follows a choice among them. A selector is asked once about an Agent that
 * comes or changes, however many follow it.
 */
export interface Roster {
  put(name: string, labels: Labels): void;
  remove(name: string): void;
  follow(choice: Choice, follower: string): void;
  unfollow(choice: Choice, follower: string): void;
  /** What a followed choice comes to, as of the last `settle`. */
  choose(choice: Choice): Selection;
  /** Takes the changes in; returns the followers whose selection may be another one since the last time. */
  settle(): ReadonlySet<string>;
  readonly isEmpty: boolean;
}

export function createRoster(): Roster {
  return new NamespaceRoster();
}

class NamespaceRoster implements Roster {
  readonly #agents = new Map<string, Labels>();
  readonly #groups = new Map<string, Group>();
  /** Groups whose names are known. */
  readonly #index = createGroupIndex();
  /** Groups that no Agent was shown to yet. */
  readonly #fresh = new Set<Group>();
  readonly #moved = new Set<Group>();
  /** Followers of an Agent by its name. */
  readonly #byName = new Map<string, Set<string>>();
  #touched = new Set<string>();

  get isEmpty(): boolean {
    return this.#agents.size === 0 && this.#groups.size === 0 && this.#byName.size === 0;
  }

  put(name: string, labels: Labels): void {
    const old = this.#agents.get(name);
    this.#agents.set(name, labels);
    if (old !== undefined && areSameLabels(old, labels)) return;
    if (old === undefined) this.#touch(this.#byName.get(name));
    else this.#move(name, old, false);
    this.#move(name, labels, true);
  }

  remove(name: string): void {
    const old = this.#agents.get(name);
    if (old === undefined) return;
    this.#agents.delete(name);
    this.#touch(this.#byName.get(name));
    this.#move(name, old, false);
  }

  follow(choice: Choice, follower: string): void {
    this.#touched.add(follower);
    if ('agents' in choice) {
      for (const name of choice.agents) {
        const followers = this.#byName.get(name) ?? new Set<string>();
        this.#byName.set(name, followers.add(follower));
      }
      return;
    }
    const known = this.#groups.get(choice.key);
    const group = known ?? groupOf(choice.key, choice.selector);
    group.followers.add(follower);
    if (known !== undefined) return;
    this.#groups.set(choice.key, group);
    this.#fresh.add(group);
  }

  unfollow(choice: Choice, follower: string): void {
    this.#touched.delete(follower);
    if ('agents' in choice) {
      for (const name of choice.agents) {
        const followers = this.#byName.get(name);
        followers?.delete(follower);
        if (followers?.size === 0) this.#byName.delete(name);
      }
      return;
    }
    const group = this.#groups.get(choice.key);
    group?.followers.delete(follower);
    if (group === undefined || group.followers.size > 0) return;
    this.#groups.delete(group.key);
    this.#index.delete(group);
    this.#fresh.delete(group);
    this.#moved.delete(group);
  }

  choose(choice: Choice): Selection {
    if ('agents' in choice) return this.#named(choice.agents);
    const names = this.#groups.get(choice.key)?.names ?? [];
    return { names, verdict: names.length === 0 ? nothingSelected : resolved };
  }

  settle(): ReadonlySet<string> {
    this.#acquaint();
    for (const group of this.#moved) {
      const names = changeNames(group.names, group.pending);
      group.pending.clear();
      if (names === group.names) continue;
      group.names = names;
      this.#touch(group.followers);
    }
    this.#moved.clear();
    const touched = this.#touched;
    this.#touched = new Set();
    return touched;
  }

  /** Shows every Agent to the groups that are new, in one pass for all of them. */
  #acquaint(): void {
    if (this.#fresh.size === 0) return;
    const index = createGroupIndex();
    for (const group of this.#fresh) index.add(group);
    for (const [name, labels] of this.#agents) {
      for (const group of index.choosing(labels)) group.pending.set(name, true);
    }
    for (const group of this.#fresh) {
      this.#index.add(group);
      this.#moved.add(group);
    }
    this.#fresh.clear();
  }

  #move(name: string, labels: Labels, stays: boolean): void {
    for (const group of this.#index.choosing(labels)) {
      group.pending.set(name, stays);
      this.#moved.add(group);
    }
  }

  #touch(followers: ReadonlySet<string> | undefined): void {
    for (const follower of followers ?? []) this.#touched.add(follower);
  }

  #named(asked: SortedNames): Selection {
    const missing = asked.filter((name) => !this.#agents.has(name));
    if (missing.length === 0) return { names: asked, verdict: resolved };
    const names = asked.filter((name) => this.#agents.has(name));
    return { names, verdict: agentsMissing(missing) };
  }
}

const resolved: Verdict = {
  ok: true,
  reason: 'ResolvedRefs',
  message: 'Everything that the Route refers to exists.',
};
const nothingSelected: Verdict = {
  ok: false,
  reason: 'NoAgentsSelected',
  message: 'spec.selector matches no Agent.',
};

function agentsMissing(names: readonly string[]): Verdict {
  const message = `No Agent named ${names.map((name) => `"${name}"`).join(', ')} exists in this namespace.`;
  return { ok: false, reason: 'AgentNotFound', message };
}
