import type { Scope } from './scope.ts';

/** One question about speed or memory, answered by ratios that are measured side by side in the same minutes. */
export interface Bench {
  readonly name: string;
  /** What it measures, in one line for people. */
  readonly about: string;
  /** The goals it judges, so that a bench that cannot run can still say which ones stay open. */
  readonly goals: readonly string[];
  /** When it counts as hanging, in milliseconds. Default 90,000. */
  readonly longestMs?: number;
  /** Ends within a minute, unless it says otherwise. Throws CannotRun when this machine lacks something. */
  run(scope: Scope): Promise<BenchResult>;
}

export interface BenchResult {
  readonly tables: readonly Table[];
  readonly goals: readonly Goal[];
  /** Everything that was measured, for later comparison. */
  readonly samples: unknown;
  /** What a reader must know to read the figures right. */
  readonly notes?: readonly string[];
}

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

export interface Goal {
  readonly name: string;
  readonly op: '>=' | '<=';
  readonly target: number;
  readonly unit: string;
  /** A sentence instead of a number when it could not be measured here. */
  readonly value: number | { readonly skipped: string };
}

/** This machine lacks something that the bench needs; the message says what. */
export class CannotRun extends Error {
  override readonly name = 'CannotRun';
}
