import { AgentServerError } from '#agent-server/errors.ts';
import type { Source, SourceChange } from '#agent-server/source.ts';
import type { Clock } from '#kit/clock.ts';
import type { People } from './people.ts';
import type { Person } from './person.ts';

export interface ServedPeopleOptions {
  readonly people: People;
  /** What serves one person, with that person's tokens and upstream sessions. */
  readonly open: (person: Person) => Source;
  readonly clock: Clock;
  /** Milliseconds until what serves somebody who does not call ends. */
  readonly idleMs: number;
  readonly onChange: (change: SourceChange, source: Source) => void;
}

/** The sources of people who call, one each. */
export interface ServedPeople {
  /** Does something with the source of this person, which stays meanwhile. Throws UpstreamBusy. */
  use<T>(user: string, work: (source: Source) => Promise<T>): Promise<T>;
  /** Ends the person's source, and opens another where the person is logged in. */
  renew(user: string): Promise<void>;
  each(work: (source: Source) => void): void;
  close(): Promise<void>;
}

interface Served {
  readonly source: Source;
  readonly person: Person;
  /** Calls that run. */
  users: number;
  cancelIdle: () => void;
}

/** At once; more take the place of those who have not called for longest. */
const mostServed = 40;

function busy(): AgentServerError {
  return new AgentServerError(
    'UpstreamBusy',
    `${mostServed} people have calls that run at the remote upstream; try again later`,
  );
}

export function servePeople({ people, open, clock, idleMs, onChange }: ServedPeopleOptions): ServedPeople {
  const served = new Map<string, Served>();

  function serve(user: string): Served {
    const entry = served.get(user) ?? begin(user);
    served.delete(user);
    served.set(user, entry);
    return entry;
  }
  function begin(user: string): Served {
    if (!makeRoom()) throw busy();
    const person = people.get(user);
    const source = open(person);
    person.isUsed = true;
    const entry: Served = { source, person, users: 0, cancelIdle: () => undefined };
    source.onChange((change) => {
      onChange(change, source);
      if (change.type === 'status' && served.get(user) === entry) rest(user, entry);
    });
    return entry;
  }
  /** False: all who are served have calls that run. */
  function makeRoom(): boolean {
    if (served.size < mostServed) return true;
    for (const [user, { users }] of served) {
      if (users > 0) continue;
      void drop(user);
      return true;
    }
    return false;
  }
  async function drop(user: string): Promise<void> {
    const entry = served.get(user);
    if (entry === undefined) return;
    served.delete(user);
    entry.cancelIdle();
    entry.person.isUsed = false;
    await entry.source.close();
  }
  /** What nobody uses ends after a while, and at once where only a login makes it of use again. */
  function rest(user: string, entry: Served): void {
    if (entry.users > 0 || served.get(user) !== entry) return;
    entry.cancelIdle();
    if (entry.person.tokens.isLoggedIn) entry.cancelIdle = clock.after(idleMs, () => void drop(user));
    else void drop(user);
  }
  return {
    async use(user, work) {
      const entry = serve(user);
      entry.cancelIdle();
      entry.users += 1;
      try {
        return await work(entry.source);
      } finally {
        entry.users -= 1;
        rest(user, entry);
      }
    },
    async renew(user) {
      await drop(user);
      // Without room, the next call of the person opens it.
      if (people.get(user).tokens.isLoggedIn && makeRoom()) rest(user, serve(user));
    },
    each(work) {
      for (const { source } of served.values()) work(source);
    },
    async close() {
      await Promise.all([...served.keys()].map(drop));
    },
  };
}
