import type { Table } from '../harness/bench.ts';

/** As V8 writes it (`.cpuprofile`). */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
    readonly children?: readonly number[];
  }[];
  readonly samples?: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas?: readonly number[];
}

type Frame = CpuProfile['nodes'][number]['callFrame'];

/** Where the time went: the functions and the modules that used most of it themselves. Waiting is not counted. */
export function profileTables(profile: CpuProfile, title: string, root: string, rows = 25): Table[] {
  const self = selfTimes(profile);
  const byFunction = new Map<string, number>();
  const byModule = new Map<string, number>();
  let busy = 0;
  for (const { id, callFrame } of profile.nodes) {
    const micros = self.get(id) ?? 0;
    if (micros === 0 || callFrame.functionName === '(idle)') continue;
    busy += micros;
    add(byFunction, nameOf(callFrame, root), micros);
    add(byModule, moduleOf(callFrame, root), micros);
  }
  const table = (what: string, times: Map<string, number>, most: number): Table => ({
    title: `${title}: ${what}, by self time (busy ${(busy / 1e6).toFixed(1)} s)`,
    columns: [what, 'ms', '%'],
    rows: [...times]
      .sort((a, b) => b[1] - a[1])
      .slice(0, most)
      .map(([name, micros]) => [name, micros / 1000, (micros / busy) * 100]),
  });
  return [
    table('modules', byModule, 20),
    table('functions', byFunction, rows),
    inclusive(profile, self, { title, root, busy, rows }),
  ];
}

function selfTimes({ samples = [], timeDeltas = [] }: CpuProfile): Map<number, number> {
  const self = new Map<number, number>();
  samples.forEach((id, index) => {
    // The time until the next sample belongs to this one.
    add(self, id, timeDeltas[index + 1] ?? 0);
  });
  return self;
}

interface InclusiveOptions {
  readonly title: string;
  readonly root: string;
  readonly busy: number;
  readonly rows: number;
}

/** The project's own functions with all that they call; one that calls itself counts once. */
function inclusive(
  { nodes }: CpuProfile,
  self: ReadonlyMap<number, number>,
  { title, root, busy, rows }: InclusiveOptions,
): Table {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const totals = new Map<string, number>();
  const visit = (id: number, above: ReadonlySet<string>): number => {
    const node = byId.get(id);
    if (node === undefined) return 0;
    const name = nameOf(node.callFrame, root);
    const isOwn = name.includes(' src/');
    const inside = isOwn ? new Set([...above, name]) : above;
    let total = self.get(id) ?? 0;
    for (const child of node.children ?? []) total += visit(child, inside);
    if (isOwn && !above.has(name)) add(totals, name, total);
    return total;
  };
  const [first] = nodes;
  if (first !== undefined) visit(first.id, new Set());
  return {
    title: `${title}: own functions with what they call`,
    columns: ['function', 'ms', '%'],
    rows: [...totals]
      .sort((a, b) => b[1] - a[1])
      .slice(0, rows)
      .map(([name, micros]) => [name, micros / 1000, (micros / busy) * 100]),
  };
}

function add<Key>(sums: Map<Key, number>, key: Key, value: number): void {
  sums.set(key, (sums.get(key) ?? 0) + value);
}

function nameOf(frame: Frame, root: string): string {
  const { functionName, lineNumber } = frame;
  const path = pathOf(frame, root);
  return path === '' ? functionName : `${functionName || '(anonymous)'} ${path}:${lineNumber + 1}`;
}

/** A file of the project, a package, or a module of Node. */
function moduleOf(frame: Frame, root: string): string {
  const path = pathOf(frame, root);
  if (path === '') return frame.functionName;
  const packaged = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1];
  return packaged ?? path;
}

function pathOf({ url }: Frame, root: string): string {
  return url.replace(/^file:\/\//, '').replace(`${root}/`, '');
}
