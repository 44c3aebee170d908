import type { Person } from '#api/people.ts';
import type { Clock } from '#kit/clock.ts';
import { sha256Hex } from '#kit/digest.ts';
import type { Log } from '#kit/log.ts';
import { checkPassword, isLegacyHash } from '#kit/password.ts';
import { networkOf } from './client-address.ts';
import type { PeopleBook } from './people.ts';
import { createThrottle } from './throttle.ts';

export type LoginResult =
  | { readonly person: Person }
  | { readonly wrong: true }
  /** Too many failures, or too many logins at once: seconds until another attempt. */
  | { readonly retryAfter: number };

export interface PasswordLogin {
  /** `address` is the client's. */
  check(attempt: {
    realm: string;
    username: string;
    password: string;
    address: string;
  }): Promise<LoginResult>;
  /** Counts one who comes in as a guest. Seconds until that is possible from there; 0: now. */
  countGuest(address: string): number;
}

/** An attempt counts before its answer is known, so that many at once do not slip through. */
const perUser = { burst: 10, everyMs: 15_000 };
const perAddress = { burst: 30, everyMs: 2_000 };
const guestsPerAddress = { burst: 60, everyMs: 1_000 };
/** Each takes 32 MiB and a thread; more would starve what else the threads do. */
const mostAtOnce = 2;
const mostWaiting = 32;

export interface PasswordLoginOptions {
  readonly people: PeopleBook;
  readonly clock: Clock;
  readonly log: Log;
  /** Default: the real one. */
  readonly isPasswordOf?: typeof checkPassword;
}

export function createPasswordLogin({
  people,
  clock,
  log,
  isPasswordOf = checkPassword,
}: PasswordLoginOptions): PasswordLogin {
  const users = createThrottle(perUser, clock);
  const addresses = createThrottle(perAddress, clock);
  const guests = createThrottle(guestsPerAddress, clock);
  const turns = createTurns(mostAtOnce, mostWaiting);
  return {
    async check({ realm, username, password, address }) {
      const user = sha256Hex(`${realm}\n${username}`).slice(0, 32);
      const network = networkOf(address);
      const waitMs = Math.max(users.waitMs(user), addresses.waitMs(network));
      if (waitMs > 0) return { retryAfter: Math.ceil(waitMs / 1000) };
      // Without room nothing is looked at, and nothing counts: else a crowd would use up what others have.
      if (!turns.hasRoom()) return { retryAfter: 2 };
      users.fail(user);
      addresses.fail(network);
      const person = people.realm(realm)?.byName(username);
      const isRight = await turns.run(() => isPasswordOf(password, person?.passwordHash));
      if (!isRight || person === undefined || person.disabled === true) return { wrong: true };
      users.forget(user);
      // Not all of them: who has one account could try as many others as they like between two logins.
      addresses.undo(network);
      if (isLegacyHash(person.passwordHash))
        log.warn(
          'a user logged in with a password hash of an earlier version; ploinky user passwd renews it',
          {
            realm,
            user: person.id,
          },
        );
      return { person };
    },
    countGuest(address) {
      const network = networkOf(address);
      const waitMs = guests.waitMs(network);
      if (waitMs === 0) guests.fail(network);
      return Math.ceil(waitMs / 1000);
    },
  };
}

/** Runs so many at once; so many may wait. */
function createTurns(atOnce: number, waiting: number) {
  let running = 0;
  const queue: (() => void)[] = [];
  return {
    hasRoom: () => running < atOnce || queue.length < waiting,
    async run<T>(work: () => Promise<T>): Promise<T> {
      if (running >= atOnce) {
        await new Promise<void>((resolve) => queue.push(resolve));
      } else running += 1;
      try {
        return await work();
      } finally {
        const next = queue.shift();
        if (next === undefined) running -= 1;
        else next();
      }
    },
  };
}
