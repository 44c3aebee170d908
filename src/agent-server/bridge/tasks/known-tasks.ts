import type { CallContext } from '../../source.ts';

/** What is remembered of a task beside its id, which alone is enough to ask for it. */
export interface KnownTask {
  readonly owner: string;
  /** As clients know it. */
  readonly name: string;
  /** Session of the client that began it, where it has one. */
  readonly session: string | undefined;
  readonly place: string;
  /** As its server calls it. */
  readonly id: string;
  /** In which upstream session it began; undefined: in the shared one. */
  readonly link: TaskLink | undefined;
}

export interface TaskLink {
  readonly session: string;
  readonly capabilities: CallContext['capabilities'];
}

export interface KnownTasks {
  /** Beyond the limit the oldest are forgotten. */
  add(task: KnownTask): void;
  find(place: string, id: string): KnownTask | undefined;
  /** The task that a server speaks of where it does not say in which session; the one in `place` if there are several. */
  meant(id: string, place: string | undefined, owner?: string): KnownTask | undefined;
  readonly size: number;
}

export function createKnownTasks(max: number): KnownTasks {
  /** By the id of the server; nearly always one. */
  const tasks = new Map<string, readonly KnownTask[]>();
  let size = 0;

  function makeRoom(): void {
    const [oldest] = tasks;
    if (size < max || oldest === undefined) return;
    tasks.delete(oldest[0]);
    size -= oldest[1].length;
  }
  return {
    add(task) {
      makeRoom();
      const others = (tasks.get(task.id) ?? []).filter(({ place }) => place !== task.place);
      size += others.length + 1 - (tasks.get(task.id)?.length ?? 0);
      tasks.set(task.id, [...others, task]);
    },
    find: (place, id) => tasks.get(id)?.find((task) => task.place === place),
    meant(id, place, owner) {
      const candidates = (tasks.get(id) ?? []).filter((task) => owner === undefined || task.owner === owner);
      const [only] = candidates;
      return candidates.find((task) => task.place === place) ?? (candidates.length === 1 ? only : undefined);
    },
    get size() {
      return size;
    },
  };
}
