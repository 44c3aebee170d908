import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repairQueue } from '#agent-server/queue/repair/repair.ts';
import type { StoredTask } from '#agent-server/queue/store/operations.ts';
import { StoreError } from '#agent-server/queue/store/store-error.ts';
import { createDice } from '../kills/random.ts';
import { type Case, type Damage, damaged, describeDamage, makeCases } from './cases.ts';
import { type Dump, dumpOf } from './dump.ts';
import { type DiskState, makeStates, writeState } from './states.ts';

export interface PowerOrder {
  readonly seed: number;
  /** Of all cases, up to 1. */
  readonly share: number;
  /** Of the cases that are refused, one in so many is repaired. */
  readonly repairEvery: number;
}

export interface PowerOutcome {
  readonly seed: number;
  readonly cases: number;
  /** Cases by what was done and how it was borne: `log cut: whole`, … */
  readonly borne: Readonly<Record<string, number>>;
  readonly repaired: number;
  /** Repairs after which every task was there, as it was. */
  readonly repairedWhole: number;
  readonly problems: readonly string[];
  readonly seconds: number;
}

/** Damages a queue in every way in which a disk may, and opens it. */
export async function runPower({ seed, share, repairEvery }: PowerOrder): Promise<PowerOutcome> {
  // Flushes cost nothing in memory, and it is the same SQLite.
  const place = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'power-'));
  const begun = performance.now();
  try {
    const cases = makeCases(await makeStates(place), createDice(seed), share);
    const run = new PowerRun(join(place, 'case'), repairEvery);
    for (const one of cases) run.check(one);
    const seconds = (performance.now() - begun) / 1_000;
    return { seed, cases: cases.length, ...run.outcome, seconds };
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

type Borne = 'whole' | 'shorter, and said' | 'shorter, cut between two transactions' | 'refused';

class PowerRun {
  readonly #folder: string;
  readonly #repairEvery: number;
  #refused = 0;
  readonly #borne: Record<string, number> = {};
  readonly #problems: string[] = [];
  #repaired = 0;
  #repairedWhole = 0;

  constructor(folder: string, repairEvery: number) {
    this.#folder = folder;
    this.#repairEvery = repairEvery;
  }

  get outcome(): Pick<PowerOutcome, 'borne' | 'repaired' | 'repairedWhole' | 'problems'> {
    return {
      borne: this.#borne,
      repaired: this.#repaired,
      repairedWhole: this.#repairedWhole,
      problems: this.#problems,
    };
  }

  check({ state, damage }: Case): void {
    const write = () => {
      rmSync(this.#folder, { recursive: true, force: true });
      writeState(this.#folder, { ...state, [damage.file]: damaged(state[damage.file], damage) });
    };
    const fail = (problem: string) =>
      void this.#problems.push(`${state.name}, ${describeDamage(damage)}: ${problem}`);
    write();
    const borne = this.#open(state, damage, fail);
    const key = `${damage.file} ${damage.how}: ${borne}`;
    this.#borne[key] = (this.#borne[key] ?? 0) + 1;
    if (borne !== 'refused' || ++this.#refused % this.#repairEvery !== 0) return;
    write();
    this.#repair(state, damage, fail);
  }

  #open(state: DiskState, damage: Damage, fail: (problem: string) => void): Borne {
    let found: Dump;
    try {
      found = dumpOf(this.#folder);
    } catch (error) {
      if (!(error instanceof StoreError)) fail(`no StoreError, but ${error}`);
      else if (error.code !== 'QueueDamaged') fail(`refused as ${error.code}: ${error.message}`);
      else if (!error.remedy?.includes('repair-queue')) fail('the refusal names no repair command');
      return 'refused';
    }
    const index = state.truths.indexOf(found.dump);
    const last = state.truths.length - 1;
    if (index === last) return 'whole';
    if (index === -1) fail('it gives what was never there');
    if (index < intactOf(state, damage))
      fail(`it lost ${intactOf(state, damage) - index} whole transactions`);
    if (found.notes.some(({ type }) => type === 'torn')) return 'shorter, and said';
    const isBetween = damage.how === 'cut' && state.commits.includes(damage.offset);
    if (!isBetween && index !== -1) fail(`${last - index} transactions are missing, and it says nothing`);
    return 'shorter, cut between two transactions';
  }

  #repair(state: DiskState, damage: Damage, fail: (problem: string) => void): void {
    this.#repaired += 1;
    try {
      const report = repairQueue(this.#folder, 6_000);
      const { tasks } = dumpOf(this.#folder);
      const true_ = state.truths.map((truth) => JSON.parse(truth) as StoredTask[]);
      const last = true_.at(-1) ?? [];
      const strange = tasks.find((task) => !true_.flat().some((known) => isSameOrder(known, task)));
      if (strange !== undefined) fail(`repaired, it has a task that was never there: ${strange.id}`);
      const missing = last.filter(({ id }) => !tasks.some((task) => task.id === id)).length;
      const said = Math.max(report.unreadable, report.lostIds.length);
      if (missing > 0 && said === 0 && report.log === 'whole')
        fail(`${missing} tasks are missing, and it says nothing`);
      if (missing === 0) this.#repairedWhole += 1;
      if (damage.file === 'log' && tasks.length < (true_[intactOf(state, damage)]?.length ?? 0)) {
        fail(`repaired, it has ${tasks.length} tasks and lost some of whole transactions`);
      }
    } catch (error) {
      fail(`it cannot be repaired: ${error}`);
    }
  }
}

/** Transactions that the damage did not touch: the last truth that must be given. */
function intactOf({ commits, truths }: DiskState, { file, offset }: Damage): number {
  if (file === 'database') return truths.length - 1;
  return Math.max(0, commits.filter((end) => end <= offset).length - 1);
}

function isSameOrder(left: StoredTask, right: StoredTask): boolean {
  return left.id === right.id && left.tool === right.tool && left.payload === right.payload;
}
