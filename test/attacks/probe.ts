import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Finding, Findings, Line, Ran, Substrate } from './case.ts';

export const python = '/usr/bin/python3';
export const probes = join(import.meta.dirname, 'probes.py');

/** Runs a probe there; `json` is what it is told. */
export async function probe(substrate: Substrate, group: string, json: unknown = {}): Promise<Findings> {
  const ran = await runIn(substrate, probeCommand(substrate, group, json));
  const findings = readFindings(ran.stdout);
  if (findings.size === 0)
    throw new Error(`${group} in ${substrate.name} said nothing (${ran.code}): ${ran.stderr}`);
  return findings;
}

export function probeCommand({ paths }: Substrate, group: string, json: unknown): string[] {
  return [python, join(paths.project, 'probes.py'), group, JSON.stringify(json)];
}

export function readFindings(text: string): Findings {
  const lines = text.split('\n').map((line) => line.trimEnd().split('\t'));
  return new Map(
    lines.flatMap(([name = '', verdict = '', detail = '']) =>
      verdict === 'works' || verdict === 'stopped' ? [[name, { verdict, detail } satisfies Finding]] : [],
    ),
  );
}

export async function runIn(substrate: Substrate, command: readonly string[]): Promise<Ran> {
  const line = await substrate.line(command);
  try {
    return await run(line);
  } finally {
    line.close();
  }
}

/** Longer than any attack takes, in milliseconds. */
const longestMs = 60_000;

export function run({ command: [file, ...args], files, env }: Line): Promise<Ran> {
  const child = spawn(file, args, {
    env: { ...env },
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe', ...files],
    timeout: longestMs,
    killSignal: 'SIGKILL',
  });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.on('data', (chunk) => {
      texts[name] += String(chunk);
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...texts }));
  });
}
