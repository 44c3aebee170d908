import type { Dice } from './random.ts';

/** What was ordered, and what the one who ordered was told: kept outside of what is killed. */
export interface Ordered {
  readonly number: number;
  readonly code: number;
  readonly bytes: number;
  readonly die: 'S' | 'E' | '-';
  readonly retries: number;
  /** In whose life it was first ordered. */
  readonly boot: number;
  /** What it was acknowledged with. */
  id: string | undefined;
  /** It was ordered again: its place may be a later one. */
  isMoved: boolean;
  /** The life in which its outcome was recorded, as far as that was told. */
  doneIn: number | undefined;
}

export class Ledger {
  readonly #mostRetries: number;
  readonly tasks: Ordered[] = [];
  readonly #unacked = new Set<Ordered>();
  acked = 0;

  /** `mostRetries` 0: no task may run twice. */
  constructor(mostRetries: number) {
    this.#mostRetries = mostRetries;
  }

  /** One in seven fails, one in ten may not run twice, one in forty has a long result. */
  order(boot: number, dice: Dice, die: Ordered['die']): Ordered {
    const number = this.tasks.length;
    const task: Ordered = {
      ...{ number, boot, die },
      code: number % 7 === 3 ? 1 + (number % 5) : 0,
      bytes: number % 40 === 9 ? 70_000 + dice.below(1_000) : 10 + dice.below(200),
      // One that kills the server shall be seen to run again.
      retries: number % 10 === 1 && die === '-' ? 0 : this.#mostRetries,
      ...{ id: undefined, isMoved: false, doneIn: undefined },
    };
    this.tasks.push(task);
    this.#unacked.add(task);
    return task;
  }

  /** Those of earlier lives that nobody acknowledged; they are ordered again by their keys. */
  takeUnacked(boot: number): Ordered[] {
    const open = [...this.#unacked].filter((task) => task.boot < boot);
    for (const task of open) task.isMoved = true;
    return open;
  }

  ack(number: number, id: string): void {
    const task = this.tasks[number];
    if (task === undefined || task.id === id) return;
    if (task.id !== undefined) throw new Error(`task ${number} is ${task.id} and, ordered again, ${id}`);
    task.id = id;
    this.acked += 1;
    this.#unacked.delete(task);
  }

  get inFlight(): number {
    return this.#unacked.size;
  }
}

export function orderLine({ number, code, bytes, die, retries }: Ordered): string {
  return `q ${number} ${code} ${bytes} ${die} ${retries}`;
}
