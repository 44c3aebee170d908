import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { missingPlace, placeKind } from '#test/fixtures/place/place.ts';
import {
  ways as allWays,
  compare,
  readBaseline,
  type TaskWay,
  taskWays,
  type Way,
  writeBaseline,
} from './baseline.ts';
import { type Row, renderMissing, renderTable } from './report.ts';
import { type Score, scoreOf } from './score.ts';
import { openStand } from './stand.ts';
import {
  missingSuite,
  type RequirementSet,
  requirementSets,
  runSuite,
  runTaskScenarios,
  type Scenario,
} from './suite.ts';

// Measures MCP conformance and prints scores and what is missing:
//   node test/conformance/run.ts [WAY…] [--requirements 2025-11-25|2026-07-28] [--write] [--rows FILE]
// --write makes what fails now the baseline; --rows writes the scores as JSON, too. PLOINKY_PLACE says where the agent
// runs. Exits with 1 when results and baseline differ.

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    requirements: { type: 'string' },
    write: { type: 'boolean', default: false },
    rows: { type: 'string' },
  },
});
const missing = missingSuite ?? missingPlace;
if (missing !== undefined && missing !== false) fail(missing);
const isWanted = (way: string) => positionals.length === 0 || positionals.includes(way);
const ways = allWays.filter(isWanted);
const sets = requirementSets.filter(
  (set) => values.requirements === undefined || values.requirements === set,
);
const tasks = sets.includes('2026-07-28') ? taskWays.filter(isWanted) : [];
if (ways.length + tasks.length === 0 || sets.length === 0) fail('Nothing to do: see the head of this file');

const rows: Row[] = [];
let differs = false;
const baseline = await readBaseline();
const stand = openStand();
try {
  for (const way of ways) await measure(way, sets);
  for (const way of tasks) await measureTasks(way);
} finally {
  await stand.close();
}
process.stdout.write(`\n${renderTable(rows)}\n`);
if (values.rows !== undefined) await writeFile(values.rows, JSON.stringify(rows));
if (values.write) await writeBaseline(baseline);
else if (differs) process.exitCode = 1;

async function measure(way: Way, wanted: readonly RequirementSet[]): Promise<void> {
  const url = await stand.reach(way);
  for (const requirements of wanted) {
    const scenarios = await runSuite(url, requirements);
    const score = note(way, requirements, scenarios);
    const { broken, mended } = compare(baseline[way][requirements], score.failures);
    for (const check of broken) process.stdout.write(`  not in the baseline: ${check}\n`);
    for (const check of mended) process.stdout.write(`  passes now, take it out of the baseline: ${check}\n`);
    differs ||= broken.length + mended.length > 0;
    baseline[way][requirements] = score.failures;
  }
}

/** Nothing of it is expected to fail. */
async function measureTasks(way: TaskWay): Promise<void> {
  const score = note(way, '2026-07-28', await runTaskScenarios(await stand.reach(way)));
  differs ||= score.failures.length > 0;
}

function note(way: Way | TaskWay, requirements: RequirementSet, scenarios: readonly Scenario[]): Score {
  const score = scoreOf(scenarios);
  rows.push({ way, place: way.endsWith('direct') ? '' : placeKind, requirements, score });
  process.stdout.write(`\n${way}, ${requirements}, missing:\n${renderMissing(scenarios) || '  nothing'}\n`);
  return score;
}

function fail(text: string): never {
  process.stderr.write(`${text}\n`);
  process.exit(2);
}
