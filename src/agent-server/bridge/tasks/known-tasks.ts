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
  /**
   * The owner's task that a list means which was asked for in `place`: the one there, else the only one of the
   * owner's; none when the one there is another's.
   */
  listed(id: string, place: string, owner: string): KnownTask | undefined;
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
      // In the order of what began last under each id, so that an id that is used again is not the oldest.
      tasks.delete(task.id);
      tasks.set(task.id, [...others, task]);
    },
    find: (place, id) => tasks.get(id)?.find((task) => task.place === place),
    listed(id, place, owner) {
      const all = tasks.get(id) ?? [];
      const there = all.find((task) => task.place === place);
      if (there !== undefined) return there.owner === owner ? there : undefined;
      const [only, ...others] = all.filter((task) => task.owner === owner);
      return others.length === 0 ? only : undefined;
    },
    get size() {
      return size;
    },
  };
}
