import type { Agent } from '#api/agent.ts';
import { staticRootAnnotation, taskLabel } from '#api/labels.ts';
import type { Route } from '#api/route.ts';
import { sha256Hex } from '#kit/digest.ts';
import { keyTextOf } from '#kube/key.ts';
import type { Access } from './access.ts';
import { noteChanges } from './changes.ts';
import { type Claims, createClaims } from './claims.ts';
import { type Defaults, defaultSurfaces, digestOfDefaults } from './defaults.ts';
import type { HostRules } from './hosts.ts';
import { type Choice, createRoster, type Roster, type Selection } from './roster.ts';
import { partOf, type RoutePart } from './route-part.ts';
import { withAgents } from './route-surfaces.ts';
import { SharedMap } from './shared-map.ts';
import { digestOfNames, type SortedNames } from './sorted-names.ts';
import { type Surface, surfaceKey } from './surface.ts';
import type { RouteVerdict, RoutingTable } from './table.ts';
import { areSameTargets, type Target, targetOf } from './target.ts';
import { areSameVerdicts } from './verdict.ts';

/**
 * The table of Agents and Routes that come and go: always that which `buildRoutingTable` makes of those that are
 * there, whatever was there before and in whatever order they came. A change costs what it changes.
 */
export interface TableKeeper {
  /** A new Agent, or another state of one. One that is being deleted counts as gone. */
  putAgent(agent: Agent): void;
  removeAgent(agent: Agent): void;
  putRoute(route: Route): void;
  removeRoute(route: Route): void;
  /** As of now: the same object until something in it changes. `changesBetween` says what did. */
  table(): RoutingTable;
}

export function createTableKeeper(rules: HostRules): TableKeeper {
  return new Keeper(rules);
}

interface Entry {
  readonly part: RoutePart;
  /** Undefined until first looked up. */
  names: SortedNames | undefined;
  surfaces: readonly Surface[];
  /** Digests of what it wants and of its agents. */
  line: string;
}

/** Follows all agents of the home namespace; no Route's name is like this. */
const defaults = 'defaults';
const everyAgent: Choice = { selector: {}, key: '{}' };

class Keeper implements TableKeeper {
  readonly #rules: HostRules;
  readonly #rosters = new Map<string, Roster>();
  readonly #claims: Claims = createClaims();
  readonly #entries = new Map<string, Entry>();
  readonly #targets = new Map<string, Target>();
  readonly #verdicts = new Map<string, RouteVerdict>();
  /** Sort keys of Agents that want to be the home namespace's static root, by name. */
  readonly #roots = new Map<string, string>();
  /** Entries from the oldest to the youngest; undefined while that is to be found out. */
  #order: readonly Entry[] | undefined;
  #defaults: Defaults = { surfaces: [], notes: [] };
  #table: KeptTable = emptyTable;
  /** What changed since `#table`. */
  readonly #rostersTouched = new Set<string>();
  #targetsChanged = new Set<string>();
  #verdictsChanged = new Set<string>();
  #guarded: ReadonlyMap<string, Access> = new Map();
  #defaultsChanged = true;
  #surfacesChanged = true;

  constructor(rules: HostRules) {
    this.#rules = rules;
    if (rules.homeNamespace !== undefined) this.#roster(rules.homeNamespace).follow(everyAgent, defaults);
  }

  putAgent(agent: Agent): void {
    const { metadata } = agent;
    if (metadata.deletionTimestamp !== undefined) {
      this.removeAgent(agent);
      return;
    }
    const { name, namespace = '', labels = {} } = metadata;
    // One that was made for a Task calls others as any does, and is called by nobody.
    if (labels[taskLabel] === undefined) this.#roster(namespace).put(name, labels);
    else this.#roster(namespace).remove(name);
    const wantsRoot = metadata.annotations?.[staticRootAnnotation] === 'true';
    this.#putRoot(agent, wantsRoot ? `${metadata.creationTimestamp ?? ''} ${name}` : undefined);
    const key = keyTextOf(agent);
    const target = targetOf(agent);
    if (areSameTargets(this.#targets.get(key), target)) return;
    this.#targets.set(key, target);
    this.#targetsChanged.add(key);
    this.#guard(key, target.access);
  }

  removeAgent(agent: Agent): void {
    const key = keyTextOf(agent);
    if (!this.#targets.delete(key)) return;
    this.#targetsChanged.add(key);
    this.#guard(key, undefined);
    this.#roster(agent.metadata.namespace ?? '').remove(agent.metadata.name);
    this.#putRoot(agent, undefined);
  }

  putRoute(route: Route): void {
    if (route.metadata.deletionTimestamp !== undefined) {
      this.removeRoute(route);
      return;
    }
    const part = partOf(route, this.#rules);
    this.#drop(part.name, part.choice);
    this.#entries.set(part.name, { part, names: undefined, surfaces: [], line: '' });
    this.#claims.put(part);
    this.#roster(part.namespace).follow(part.choice, part.name);
  }

  removeRoute(route: Route): void {
    const name = keyTextOf(route);
    this.#drop(name);
    this.#claims.remove(name);
    if (this.#verdicts.delete(name)) this.#verdictsChanged.add(name);
  }

  table(): RoutingTable {
    this.#settle();
    const before = this.#table;
    const changes = { targets: this.#targetsChanged, verdicts: this.#verdictsChanged };
    if (!this.#surfacesChanged && changes.targets.size === 0 && changes.verdicts.size === 0) return before;
    this.#table = {
      ...(this.#surfacesChanged ? this.#serve() : before),
      targets: update(before.targets, changes.targets, this.#targets),
      verdicts: update(before.verdicts, changes.verdicts, this.#verdicts),
      guarded: this.#guarded,
    };
    noteChanges(before, this.#table, changes);
    this.#targetsChanged = new Set();
    this.#verdictsChanged = new Set();
    this.#surfacesChanged = false;
    return this.#table;
  }

  /** What comes instead may choose by the same selector, whose agents are known then. */
  #drop(name: string, next?: Choice): void {
    this.#order = undefined;
    this.#surfacesChanged = true;
    const part = this.#entries.get(name)?.part;
    if (part === undefined) return;
    this.#entries.delete(name);
    if (next !== undefined && 'key' in next && 'key' in part.choice && next.key === part.choice.key) return;
    this.#roster(part.namespace).unfollow(part.choice, name);
  }

  /** To change it: it settles with the next table. */
  #roster(namespace: string): Roster {
    this.#rostersTouched.add(namespace);
    const roster = this.#rosters.get(namespace) ?? createRoster();
    this.#rosters.set(namespace, roster);
    return roster;
  }

  #putRoot({ metadata }: Agent, age: string | undefined): void {
    if (metadata.namespace !== this.#rules.homeNamespace || this.#roots.get(metadata.name) === age) return;
    if (age === undefined) this.#roots.delete(metadata.name);
    else this.#roots.set(metadata.name, age);
    this.#defaultsChanged = true;
  }

  /** Few ask, and change what they ask for: the map is made anew, so that who keeps something of it sees that. */
  #guard(key: string, access: Access | undefined): void {
    const known = this.#guarded.get(key);
    if (known === access || JSON.stringify(known) === JSON.stringify(access)) return;
    const guarded = new Map(this.#guarded);
    if (access === undefined) guarded.delete(key);
    else guarded.set(key, access);
    this.#guarded = guarded;
  }

  #settle(): void {
    const concerned = new Set<string>(this.#claims.settle());
    if (concerned.size > 0) this.#surfacesChanged = true;
    for (const namespace of this.#rostersTouched) {
      const roster = this.#rosters.get(namespace);
      for (const follower of roster?.settle() ?? []) concerned.add(follower);
      if (roster?.isEmpty) this.#rosters.delete(namespace);
    }
    this.#rostersTouched.clear();
    if (concerned.delete(defaults) || this.#defaultsChanged) this.#lookAtDefaults();
    for (const name of concerned) this.#look(name);
  }

  #choose(namespace: string, choice: Choice): Selection {
    return (this.#rosters.get(namespace) ?? createRoster()).choose(choice);
  }

  /** Takes in what a Route is served with now. */
  #look(name: string): void {
    const entry = this.#entries.get(name);
    const accepted = this.#claims.verdict(name);
    if (entry === undefined || accepted === undefined) return;
    const { part } = entry;
    const { names, verdict: resolved } = this.#choose(part.namespace, part.choice);
    if (entry.names === undefined || digestOfNames(names) !== digestOfNames(entry.names)) {
      entry.names = names;
      entry.surfaces = withAgents(part.surfaces, names);
      entry.line = `${part.digest} ${digestOfNames(names)}`;
      if (accepted.ok) this.#surfacesChanged = true;
    }
    const verdict = { accepted, resolved, agents: names.length };
    if (areSame(this.#verdicts.get(name), verdict)) return;
    this.#verdicts.set(name, verdict);
    this.#verdictsChanged.add(name);
  }

  #lookAtDefaults(): void {
    this.#defaultsChanged = false;
    const namespace = this.#rules.homeNamespace;
    if (namespace === undefined) return;
    const { names } = this.#choose(namespace, everyAgent);
    const byAge = [...this.#roots].sort(([, left], [, right]) => (left < right ? -1 : 1));
    this.#defaults = defaultSurfaces({ namespace, names, roots: byAge.map(([name]) => name) });
    this.#surfacesChanged = true;
  }

  #serve(): Pick<RoutingTable, 'surfaces' | 'digest' | 'notes'> {
    this.#order ??= [...this.#entries.values()].sort((left, right) =>
      left.part.age < right.part.age ? -1 : 1,
    );
    const surfaces: Surface[] = [];
    const lines: string[] = [];
    for (const { part, surfaces: own, line } of this.#order) {
      if (!this.#claims.verdict(part.name)?.ok) continue;
      for (const surface of own) surfaces.push(surface);
      lines.push(line);
    }
    const left = this.#defaults.surfaces.filter((surface) => !this.#claims.isTaken(surfaceKey(surface)));
    lines.push(digestOfDefaults(left));
    const digest = sha256Hex(lines.join('\n')).slice(0, 16);
    return { digest, surfaces: [...surfaces, ...left], notes: this.#defaults.notes };
  }
}

/** The next table shares with it what is the same in both. */
interface KeptTable extends RoutingTable {
  readonly targets: SharedMap<Target>;
  readonly verdicts: SharedMap<RouteVerdict>;
}

const emptyTable: KeptTable = {
  digest: '',
  surfaces: [],
  targets: SharedMap.empty(),
  verdicts: SharedMap.empty(),
  notes: [],
  guarded: new Map(),
};

function update<V>(
  shared: SharedMap<V>,
  changed: ReadonlySet<string>,
  now: ReadonlyMap<string, V>,
): SharedMap<V> {
  return changed.size === 0 ? shared : shared.with([...changed].map((name) => [name, now.get(name)]));
}

function areSame(left: RouteVerdict | undefined, right: RouteVerdict): boolean {
  if (left === undefined || left.agents !== right.agents) return false;
  return areSameVerdicts(left.accepted, right.accepted) && areSameVerdicts(left.resolved, right.resolved);
}
