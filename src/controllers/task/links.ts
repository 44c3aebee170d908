import type { Clock } from '#kit/clock.ts';
import type { Random } from '#kit/random.ts';
import type { TaskLink, TaskLinkOptions } from '#wire/tasks.ts';
import type { TaskPlace } from './listener.ts';

/** Connections to agent-servers that have something to do. */
export interface Links {
  to(place: TaskPlace): TaskLink;
  close(): void;
}

export interface LinksOptions {
  /** See `openTaskLink`. */
  readonly open: (options: TaskLinkOptions) => TaskLink;
  readonly clock: Clock;
  readonly random: Random;
}

/** A fleet has thousands; few of them have Tasks at the same time. In milliseconds. */
const idleMs = 20_000;

interface Held {
  readonly place: TaskPlace;
  readonly link: TaskLink;
  cancelIdle: () => void;
}

export function createLinks({ open, clock, random }: LinksOptions): Links {
  const links = new Map<string, Held>();
  function drop(instance: string): void {
    const held = links.get(instance);
    held?.cancelIdle();
    held?.link.close();
    links.delete(instance);
  }
  function openAt(place: TaskPlace): Held {
    const held = { place, link: open({ ...place, clock, random }), cancelIdle: () => undefined };
    links.set(place.instance, held);
    return held;
  }
  return {
    to(place) {
      const { instance } = place;
      const before = links.get(instance);
      if (before !== undefined && before.place !== place) drop(instance);
      const held = links.get(instance) ?? openAt(place);
      held.cancelIdle();
      held.cancelIdle = clock.after(idleMs, () => drop(instance));
      return held.link;
    },
    close() {
      for (const instance of [...links.keys()]) drop(instance);
    },
  };
}
