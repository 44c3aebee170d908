import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { checkout, runProgram } from '#test/fixtures/workspace/workspace.ts';

// Runs @modelcontextprotocol/conformance of test/peers and reads what it wrote.

const home = join(checkout, 'test/peers/node_modules/@modelcontextprotocol/conformance');

/** Why the suite cannot run here; undefined: it can. */
export const missingSuite: string | undefined = existsSync(home)
  ? undefined
  : 'the conformance suite is not installed (npm ci in test/peers)';

/** Sets of requirements, by the revision of MCP that they are of. */
export const requirementSets = ['2025-11-25', '2026-07-28'] as const;
export type RequirementSet = (typeof requirementSets)[number];

export interface Check {
  readonly id: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly errorMessage?: string;
}

export interface Scenario {
  readonly name: string;
  /** Counts towards the score; the others are extensions, pending or newer than the revision. */
  readonly scored: boolean;
  readonly checks: readonly Check[];
}

/** Measures the MCP server at `url`. Throws when the suite itself did not run to its end. */
export async function runSuite(url: string, requirements: RequirementSet): Promise<Scenario[]> {
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  try {
    const program = join(home, 'dist/index.js');
    const args = ['server', '--url', url, '--requirements', requirements, '-o', folder, '--timeout', '15000'];
    const { stdout, stderr } = await runProgram(process.execPath, [program, ...args]);
    if (!stdout.includes('=== SUMMARY ===')) throw new Error(`The suite broke off:\n${stdout}${stderr}`);
    const scored = await readScored(requirements);
    const names = /^=== Running scenario: (\S+) ===$/gm;
    const scenarios = [...stdout.matchAll(names)].map(([, name = '']) => name);
    return await Promise.all(
      scenarios.map(async (name) => ({
        name,
        scored: scored.has(name),
        checks: await readChecks(folder, name),
      })),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Those of the extension for tasks that check anything. */
export const taskScenarios = [
  'tasks-lifecycle',
  'tasks-capability-negotiation',
  'tasks-wire-fields',
  'tasks-request-state-removal',
  'tasks-mrtr-input',
  'tasks-request-headers',
  'tasks-dispatch-and-envelope',
  'tasks-required-task-error',
  'tasks-mrtr-composition',
];

/** Measures tasks alone, for a server without the other tools that the suite calls. */
export async function runTaskScenarios(url: string): Promise<Scenario[]> {
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  const scenarios: Scenario[] = [];
  try {
    for (const name of taskScenarios) {
      const args = ['server', '--url', url, '--scenario', name, '-o', folder, '--timeout', '15000'];
      await runProgram(process.execPath, [join(home, 'dist/index.js'), ...args]);
      scenarios.push({ name, scored: true, checks: await readChecks(folder, name) });
    }
    return scenarios;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function readScored(requirements: RequirementSet): Promise<ReadonlySet<string>> {
  const text = await readFile(join(home, 'requirements', `${requirements}.yaml`), 'utf8');
  return new Set((parse(text) as { server: string[] }).server);
}

/** The suite writes into `server-<scenario>-<time>`. */
async function readChecks(folder: string, scenario: string): Promise<Check[]> {
  const prefix = `server-${scenario}-`;
  const entries = await readdir(folder);
  const own = entries.find((entry) => entry.startsWith(prefix) && /^\d{4}-/.test(entry.slice(prefix.length)));
  if (own === undefined) throw new Error(`The suite wrote nothing about ${scenario}`);
  return JSON.parse(await readFile(join(folder, own, 'checks.json'), 'utf8')) as Check[];
}

/** The client's scenarios that count for the revision. */
export async function scoredClientScenarios(requirements: RequirementSet): Promise<string[]> {
  const text = await readFile(join(home, 'requirements', `${requirements}.yaml`), 'utf8');
  return (parse(text) as { client: string[] }).client;
}

export interface ClientScenario {
  /** 0: passed. */
  readonly code: number | null;
  readonly checks: readonly Check[];
  readonly output: string;
}

/** Has the suite judge a client: a script with its arguments, to which the suite adds the address of its server. */
export async function runClientScenario(
  command: readonly string[],
  scenario: string,
  revision: string | undefined,
): Promise<ClientScenario> {
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  try {
    const client = [process.execPath, ...command].join(' ');
    const args = ['client', '--command', client, '--scenario', scenario, '-o', folder, '--timeout', '45000'];
    const version = revision === undefined ? [] : ['--spec-version', revision];
    const { code, stdout, stderr } = await runProgram(process.execPath, [
      join(home, 'dist/index.js'),
      ...args,
      ...version,
    ]);
    return { code, checks: await readOnlyChecks(folder), output: `${stdout}${stderr}` };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Of the one scenario that was run; its name may have made folders of its own. */
async function readOnlyChecks(folder: string): Promise<Check[]> {
  const files = await readdir(folder, { recursive: true });
  const path = files.find((name) => name.endsWith('checks.json'));
  if (path === undefined) throw new Error('The suite wrote nothing');
  return JSON.parse(await readFile(join(folder, path), 'utf8')) as Check[];
}
