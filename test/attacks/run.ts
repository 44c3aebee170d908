import type { AttackGroup, Finding, Findings, Substrate } from './case.ts';
import type { Harness } from './harness.ts';

/** One attack, everywhere it was tried. */
export interface Row {
  readonly id: string;
  readonly group: string;
  readonly name: string;
  readonly none: Finding;
  /** Undefined: the peer cannot run here. */
  readonly peer: Finding | undefined;
  readonly ours: Finding;
}

/** Runs every group without a sandbox, in the peer's (where there is one) and in ours. */
export async function runGroups(
  harness: Harness,
  groups: readonly AttackGroup[],
  hasPeer: boolean,
  progress: (line: string) => void = () => undefined,
): Promise<Row[]> {
  const none = await runAll(harness, harness.none(), groups, progress);
  const ours = await runAll(harness, harness.ours(), groups, progress);
  const peer = hasPeer ? await runAll(harness, await harness.peer(), groups, progress) : undefined;
  return groups.flatMap((group, index) =>
    [...(ours[index] ?? [])].map(([name, finding]) => ({
      ...{ id: group.id, group: group.title, name, ours: finding },
      none: none[index]?.get(name) ?? notTried,
      peer: peer === undefined ? undefined : (peer[index]?.get(name) ?? notTried),
    })),
  );
}

const notTried: Finding = { verdict: 'absent', detail: 'not tried' };

async function runAll(
  harness: Harness,
  substrate: Substrate,
  groups: readonly AttackGroup[],
  progress: (line: string) => void,
): Promise<Findings[]> {
  const taken: Findings[] = [];
  try {
    for (const group of groups) {
      progress(`${substrate.name}: ${group.title}`);
      harness.reset();
      taken.push(await group.run(substrate, harness.target));
    }
  } finally {
    await substrate.close();
    harness.reset();
  }
  return taken;
}

/** Nothing shows that the attack is one: the system itself stops it everywhere. */
export function isWithoutControl({ none }: Row): boolean {
  return none.verdict !== 'works';
}

/** What works in ours and not in the peer, or works in ours at all. */
export function failuresOf(rows: readonly Row[]): Row[] {
  return rows.filter(({ ours }) => ours.verdict !== 'stopped');
}
