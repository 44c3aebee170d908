import type { Task } from '#api/task.ts';
import { backoffDelay } from '#kit/backoff.ts';
import type { Clock } from '#kit/clock.ts';
import type { Cache } from '#kube/cache.ts';
import type { ExecutionLine } from '#wire/execution-line.ts';
import { isEnded, type TaskLine } from '#wire/task-line.ts';
import type { Trouble } from './facts.ts';
import { uidIndex } from './indexes.ts';
import type { TaskListener, TaskPlace } from './listener.ts';
import { currentKey, splitKey } from './phases.ts';
import { createStrayKeys } from './stray-keys.ts';

/**
 * What agent-servers have said of attempts, and where they can be asked. Nothing of it has to survive this process:
 * whatever is not here is asked for. An agent-server is believed of the attempts that its Agent was given, and of no
 * others: of those it only counts that it says it has them, so that they can be ended there.
 */
export interface Attempts extends TaskListener {
  /** Where the agent-server of this instance is; undefined while nobody listens there. */
  place(instance: string): TaskPlace | undefined;
  line(key: string): Told | undefined;
  trouble(key: string): Trouble | undefined;
  /** True when this instance has said that it knows of no such attempt. */
  isUnknownAt(key: string, instance: string): boolean;
  /** Keys of this Task's attempts that have not ended, as far as was told. */
  unended(uid: string): readonly string[];
  /** Where this attempt goes on, as far as was told, and can be reached. */
  holders(key: string): readonly TaskPlace[];
  /** A question was answered with no line. */
  failed(key: string, kind: Trouble['kind'], message: string): void;
  unknownAt(key: string, instance: string): void;
  /** Questions that failed may be asked again at once: something has changed there. */
  calm(key: string): void;
  /** Nobody asks for this Task any more. */
  forget(uid: string): void;
  /** Milliseconds for which this has listened. */
  readonly ageMs: number;
  /** Calls back with the key of each attempt of which something else is known. Returns the stop function. */
  onTold(listener: (key: string) => void): () => void;
  /** Calls back when instances come that can be asked; then what was unended there is to be asked for again. */
  onOpened(listener: (place: TaskPlace) => void): () => void;
  /** Calls back with each task that a client began and no Task stands for. */
  onBegan(listener: (place: TaskPlace, line: ExecutionLine) => void): () => void;
  /** Calls back when an instance is not listened to any more. */
  onClosed(listener: (place: TaskPlace) => void): () => void;
}

export interface Told {
  readonly line: TaskLine;
  /** Instance that told it. */
  readonly instance: string;
}

interface Entry {
  told?: Told;
  trouble?: Trouble;
  unknownAt?: Set<string>;
}

const pauses = { initial: 500, max: 15_000 };

/** `tasks` is made with `taskIndexes`: they say who was given what. */
export function createAttempts(clock: Clock, tasks: Pick<Cache<Task>, 'byIndex'>): Attempts {
  return new AttemptMemory(clock, tasks);
}

/** A line that was sent earlier may arrive later, on another connection. */
const ranks: Readonly<Record<TaskLine['status'], number>> = {
  pending: 0,
  input_required: 1,
  running: 1,
  completed: 2,
  failed: 2,
  cancelled: 2,
};

class AttemptMemory implements Attempts {
  readonly #clock: Clock;
  readonly #knownTasks: Pick<Cache<Task>, 'byIndex'>;
  readonly #since: number;
  readonly #places = new Map<string, TaskPlace>();
  /** By uid of the Task, then by key. */
  readonly #tasks = new Map<string, Map<string, Entry>>();
  readonly #strays = createStrayKeys();
  readonly #onTold = new Set<(key: string) => void>();
  readonly #onOpened = new Set<(place: TaskPlace) => void>();
  readonly #onBegan = new Set<(place: TaskPlace, line: ExecutionLine) => void>();
  readonly #onClosed = new Set<(place: TaskPlace) => void>();

  constructor(clock: Clock, tasks: Pick<Cache<Task>, 'byIndex'>) {
    this.#clock = clock;
    this.#knownTasks = tasks;
    this.#since = clock.monotonic();
  }

  get ageMs(): number {
    return this.#clock.monotonic() - this.#since;
  }

  opened(place: TaskPlace): void {
    this.#places.set(place.instance, place);
    this.#strays.dropInstance(place.instance);
    for (const entries of this.#tasks.values()) {
      for (const entry of entries.values()) {
        const { told } = entry;
        if (told !== undefined && told.instance === place.instance && !isEnded(told.line)) delete entry.told;
      }
    }
    for (const listener of this.#onOpened) listener(place);
  }

  told(place: TaskPlace, line: TaskLine): void {
    if (this.#isBelieved(place, line.key)) this.#toldByHolder(place.instance, line);
    else this.#toldByOther(place.instance, line);
  }

  #toldByHolder(instance: string, line: TaskLine): void {
    this.#strays.drop(instance, line.key);
    const entry = this.#entry(line.key);
    if (entry === undefined) return;
    const before = entry.told;
    if (before !== undefined && isEnded(before.line)) return;
    if (before?.instance === instance && ranks[before.line.status] > ranks[line.status]) return;
    entry.told = { line, instance };
    delete entry.trouble;
    if (before?.instance === instance && before.line.status === line.status) return;
    this.#announce(line.key);
  }

  /** The Task says that this Agent has the attempt; or this instance has been believed of it, and tells how it went on. */
  #isBelieved({ agent, instance }: TaskPlace, key: string): boolean {
    if (this.#find(key)?.told?.instance === instance) return true;
    const task = this.#taskOf(key);
    return task?.metadata.namespace === agent.namespace && task.status?.agent === agent.name;
  }

  /** The Task whose present attempt this is. */
  #taskOf(key: string): Task | undefined {
    const [task] = this.#knownTasks.byIndex(uidIndex, splitKey(key)?.uid ?? '');
    return task !== undefined && currentKey(task) === key ? task : undefined;
  }

  #toldByOther(instance: string, line: TaskLine): void {
    if (isEnded(line)) this.#strays.drop(instance, line.key);
    else if (this.#strays.add(instance, line.key)) this.#announce(line.key);
  }

  #announce(key: string): void {
    for (const listener of this.#onTold) listener(key);
  }

  began(place: TaskPlace, line: ExecutionLine): void {
    for (const listener of this.#onBegan) listener(place, line);
  }

  closed(place: TaskPlace): void {
    if (this.#places.get(place.instance) !== place) return;
    this.#places.delete(place.instance);
    this.#strays.dropInstance(place.instance);
    for (const listener of this.#onClosed) listener(place);
  }

  place(instance: string): TaskPlace | undefined {
    return this.#places.get(instance);
  }

  line(key: string): Told | undefined {
    return this.#find(key)?.told;
  }

  trouble(key: string): Trouble | undefined {
    return this.#find(key)?.trouble;
  }

  isUnknownAt(key: string, instance: string): boolean {
    return this.#find(key)?.unknownAt?.has(instance) ?? false;
  }

  unended(uid: string): readonly string[] {
    const strays = this.#strays.of(uid).map(({ key }) => key);
    const entries = [...(this.#tasks.get(uid) ?? [])];
    const told = entries.filter(([, { told }]) => told && !isEnded(told.line)).map(([key]) => key);
    return strays.length === 0 ? told : [...new Set([...told, ...strays])];
  }

  holders(key: string): readonly TaskPlace[] {
    const { told } = this.#find(key) ?? {};
    const strays = this.#strays.of(splitKey(key)?.uid ?? '').filter((stray) => stray.key === key);
    const instances = new Set(strays.map(({ instance }) => instance));
    if (told !== undefined && !isEnded(told.line)) instances.add(told.instance);
    return [...instances].flatMap((instance) => this.#places.get(instance) ?? []);
  }

  failed(key: string, kind: Trouble['kind'], message: string): void {
    const entry = this.#entry(key);
    if (entry === undefined) return;
    const failures = (entry.trouble?.failures ?? 0) + 1;
    const until = this.#clock.now() + backoffDelay(pauses, failures);
    entry.trouble = { kind, message, failures, until };
  }

  unknownAt(key: string, instance: string): void {
    this.#strays.drop(instance, key);
    const { told } = this.#find(key) ?? {};
    if (told === undefined && this.#taskOf(key) === undefined) return;
    const entry = this.#entry(key);
    if (entry === undefined) return;
    entry.unknownAt = (entry.unknownAt ?? new Set()).add(instance);
    delete entry.trouble;
    // What it said of it before is no longer so.
    if (told?.instance === instance && !isEnded(told.line)) delete entry.told;
  }

  calm(key: string): void {
    const { trouble } = this.#find(key) ?? {};
    if (trouble !== undefined && trouble.kind !== 'refused')
      this.#entrySet(key, { ...trouble, until: this.#clock.now() });
  }

  forget(uid: string): void {
    this.#tasks.delete(uid);
  }

  onTold(listener: (key: string) => void): () => void {
    this.#onTold.add(listener);
    return () => this.#onTold.delete(listener);
  }

  onOpened(listener: (place: TaskPlace) => void): () => void {
    this.#onOpened.add(listener);
    return () => this.#onOpened.delete(listener);
  }

  onBegan(listener: (place: TaskPlace, line: ExecutionLine) => void): () => void {
    this.#onBegan.add(listener);
    return () => this.#onBegan.delete(listener);
  }

  onClosed(listener: (place: TaskPlace) => void): () => void {
    this.#onClosed.add(listener);
    return () => this.#onClosed.delete(listener);
  }

  #find(key: string): Entry | undefined {
    return this.#tasks.get(splitKey(key)?.uid ?? '')?.get(key);
  }

  #entry(key: string): Entry | undefined {
    const { uid } = splitKey(key) ?? {};
    if (uid === undefined) return undefined;
    const entries = this.#tasks.get(uid) ?? new Map<string, Entry>();
    this.#tasks.set(uid, entries);
    const entry = entries.get(key) ?? {};
    entries.set(key, entry);
    return entry;
  }

  #entrySet(key: string, trouble: Trouble): void {
    const entry = this.#find(key);
    if (entry !== undefined) entry.trouble = trouble;
  }
}
