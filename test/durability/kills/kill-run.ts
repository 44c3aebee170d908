import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Built, buildPrograms, buildShim, programs } from '../programs/build.ts';
import { type Failpoint, failpointsOf, shimFailpoints } from '../programs/failpoints.ts';
import { Boot } from './boot.ts';
import { judge, type Told, type Verdict } from './judge.ts';
import { Ledger, type Ordered, orderLine } from './ledger.ts';
import { createDice, type Dice } from './random.ts';

export interface KillOrder {
  readonly kills: number;
  /** Acknowledged tasks. */
  readonly tasks: number;
  readonly seed: number;
  /** What is killed: the parts of a queue alone, or a whole agent-server that is asked by HTTP. */
  readonly program: 'queue-program' | 'server-program';
}

export interface KillOutcome extends Verdict {
  readonly seed: number;
  readonly kills: number;
  /** Kills by where they met the program. */
  readonly where: Readonly<Record<string, number>>;
  /** Failpoints that need a library which cannot be had here, and why. */
  readonly left: string | undefined;
  /** Milliseconds until each life took orders. */
  readonly startsMs: readonly number[];
  readonly seconds: number;
}

/** Where one life ends, if nothing else ends it before. */
interface Plan {
  readonly parallel: number;
  readonly orders: number;
  /** Milliseconds after which it is killed from outside. */
  readonly afterMs: number;
  readonly failpoint: Failpoint | undefined;
  readonly count: number;
  readonly die: 'S' | 'E' | undefined;
}

/** Milliseconds for which a failpoint is waited for. */
const longestWaitMs = 1_500;
const mostInFlight = 64;

/** Kills the queue's program again and again while it works, and judges what is left. */
export async function runKills(order: KillOrder): Promise<KillOutcome> {
  const place = mkdtempSync(join(tmpdir(), 'durable-'));
  try {
    const built = await buildPrograms(order.program, place);
    return await new KillRun(order, place, built).run();
  } finally {
    rmSync(place, { recursive: true, force: true, maxRetries: 5 });
  }
}

class KillRun {
  readonly #order: KillOrder;
  readonly #place: string;
  readonly #built: Built;
  readonly #dice: Dice;
  readonly #ledger: Ledger;
  readonly #shim: ReturnType<typeof buildShim>;
  readonly #parallel = new Map<number, number>();
  readonly #told = new Map<number, Told | null>();
  readonly #where: Record<string, number> = {};
  readonly #startsMs: number[] = [];
  #boots = 0;
  #kills = 0;
  #deaths = 0;

  constructor(order: KillOrder, place: string, built: Built) {
    this.#order = order;
    this.#place = place;
    this.#built = built;
    this.#dice = createDice(order.seed);
    // What the controller orders is run again by the controller alone.
    this.#ledger = new Ledger(order.program === 'server-program' ? 0 : 1_000);
    this.#shim = buildShim(place);
    mkdirSync(join(place, 'queue'));
  }

  async run(): Promise<KillOutcome> {
    const begun = performance.now();
    while (this.#kills < this.#order.kills) await this.#live(this.#plan());
    await this.#finish();
    const marks = readFileSync(this.#marks, 'utf8');
    const { tasks } = this.#ledger;
    const verdict = judge({ tasks, told: this.#told, marks, parallel: this.#parallel });
    return {
      ...verdict,
      seed: this.#order.seed,
      kills: this.#kills,
      where: this.#where,
      left: 'missing' in this.#shim ? this.#shim.missing : undefined,
      startsMs: this.#startsMs,
      seconds: (performance.now() - begun) / 1_000,
    };
  }

  /** Every failpoint in its turn, and as many kills at random times, and some by the tools themselves. */
  #plan(): Plan {
    const dice = this.#dice;
    const left = 'missing' in this.#shim ? shimFailpoints : [];
    const points = failpointsOf(this.#order.program).filter((name) => !left.includes(name));
    const turn = this.#boots % (points.length * 2 + 4);
    const failpoint = turn < points.length ? points[turn] : undefined;
    const die = turn >= points.length * 2 ? dice.pick(['S', 'E'] as const) : undefined;
    const isLong = failpoint === 'before-rename' || failpoint === 'after-rename';
    return {
      ...{ failpoint, die },
      parallel: dice.pick([1, 2, 4, 10, 10] as const),
      orders: Math.ceil((this.#order.tasks / this.#order.kills) * (0.6 + 0.8 * dice.fraction())),
      afterMs: failpoint === undefined && die === undefined ? dice.below(600) : longestWaitMs,
      count: 1 + dice.below(isLong ? 2 : 12),
    };
  }

  async #live(plan: Plan): Promise<void> {
    const boot = this.#start(plan);
    const readyMs = await boot.up;
    if (readyMs !== undefined) this.#startsMs.push(readyMs);
    let isOutside = false;
    const timer = setTimeout(() => {
      isOutside = true;
      boot.kill();
    }, plan.afterMs);
    await Promise.race([this.#feed(boot, plan), boot.ended]);
    const how = await boot.ended;
    clearTimeout(timer);
    if (how !== 'SIGKILL') throw new Error(`the program ended by itself (${how}): ${boot.stderr}`);
    this.#countKill(isOutside ? undefined : plan.failpoint);
  }

  #start({ parallel, failpoint, count }: Pick<Plan, 'parallel' | 'failpoint' | 'count'>): Boot {
    this.#boots += 1;
    const number = this.#boots;
    this.#parallel.set(number, parallel);
    const isShim = failpoint !== undefined && shimFailpoints.includes(failpoint);
    const armed = `${failpoint}:${count}`;
    return new Boot({
      program: this.#built.program,
      folder: join(this.#place, 'queue'),
      env: {
        PATH: '/usr/bin:/bin',
        DURABILITY_THREAD: this.#built.thread,
        BOOT: String(number),
        PARALLEL: String(parallel),
        MARKS: this.#marks,
        TOOL: join(programs, 'tool.sh'),
        ...(failpoint !== undefined && !isShim && { DURABILITY_FAILPOINT: armed }),
        ...(isShim && 'library' in this.#shim && this.#preload(this.#shim.library, armed)),
      },
      onLine: (line) => this.#hear(line, number),
    });
  }

  #preload(library: string, armed: string): Record<string, string> {
    return { LD_PRELOAD: library, SHIM_FOLDER: join(this.#place, 'queue'), SHIM_KILL: armed };
  }

  get #marks(): string {
    return join(this.#place, 'marks');
  }

  #hear(line: string, boot: number): void {
    const [kind, number, ...rest] = line.split(' ');
    if (kind === 'a') this.#ledger.ack(Number(number), rest.join(' '));
    else if (kind === 'd') this.#done(Number(number), boot);
    else if (kind === 'r') this.#told.set(Number(number), JSON.parse(rest.join(' ')) as Told | null);
    else throw new Error(`the program said: ${line}`);
  }

  #done(number: number, boot: number): void {
    const task = this.#ledger.tasks[number];
    if (task !== undefined) task.doneIn = boot;
  }

  /** Orders in bursts, at most so many unacknowledged at a time. */
  async #feed(boot: Boot, { orders, die }: Pick<Plan, 'orders' | 'die'>): Promise<void> {
    for (const task of this.#ledger.takeUnacked(this.#boots)) boot.send(orderLine(task));
    const victim = die === undefined ? -1 : this.#dice.below(Math.max(1, Math.floor(orders / 4)));
    for (let index = 0; index < orders && !boot.isOver; index += 1) {
      while (this.#ledger.inFlight >= mostInFlight && !boot.isOver) await sleep(1);
      if (boot.isOver) return;
      const task = this.#ledger.order(this.#boots, this.#dice, index === victim && die ? die : '-');
      boot.send(orderLine(task));
      if (this.#dice.below(20) === 0) await sleep(this.#dice.below(20));
    }
  }

  /** By its own doing at a failpoint, by one of its tools, or from outside. */
  #countKill(failpoint: Failpoint | undefined): void {
    const deaths = this.#ledger.tasks.filter((task) => this.#hasKilled(task)).length;
    const where = deaths > this.#deaths ? 'by a tool' : (failpoint ?? 'at a random time');
    this.#deaths = deaths;
    this.#kills += 1;
    this.#where[where] = (this.#where[where] ?? 0) + 1;
  }

  #hasKilled({ number, die }: Ordered): boolean {
    return die !== '-' && existsSync(`${this.#marks}.${number}`);
  }

  /** Lets everything end, and asks for every outcome. */
  async #finish(): Promise<void> {
    for (;;) {
      const boot = this.#start({ parallel: 10, failpoint: undefined, count: 0 });
      if ((await boot.up) === undefined) throw new Error(`it does not start: ${boot.stderr}`);
      const missing = Math.max(0, this.#order.tasks - this.#ledger.acked);
      await Promise.race([this.#feed(boot, { orders: missing, die: undefined }), boot.ended]);
      const isDone = await Promise.race([this.#askAll(boot), boot.ended.then(() => false)]);
      await boot.close();
      if (isDone) return;
      if ((await boot.ended) !== 'SIGKILL') throw new Error(`it ended by itself: ${boot.stderr}`);
      // A tool that was to kill the server has come to its turn only now.
      this.#countKill(undefined);
    }
  }

  async #askAll(boot: Boot): Promise<boolean> {
    const isFinal = ({ number }: Ordered) =>
      ['completed', 'failed', 'cancelled', undefined].includes(this.#told.get(number)?.status) &&
      this.#told.has(number);
    const deadline = performance.now() + 600_000;
    while (performance.now() < deadline && !boot.isOver) {
      while (this.#ledger.inFlight > 0 && !boot.isOver) await sleep(5);
      const open = this.#ledger.tasks.filter((task) => !isFinal(task));
      if (open.length === 0) return true;
      // Those that are far from their turn need not be asked for yet.
      for (const task of open.slice(0, 500)) {
        this.#told.delete(task.number);
        boot.send(`c ${task.number} ${task.id}`);
      }
      const asked = open.slice(0, 500);
      while (!boot.isOver && asked.some(({ number }) => !this.#told.has(number))) await sleep(5);
      if (asked.some((task) => !isFinal(task))) await sleep(100);
    }
    return false;
  }
}
