import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { isRunning, type ProcessIdentity } from '#kit/process.ts';
import type { WorkloadRecord } from './shim/record-file.ts';

const identity = z.object({ pid: z.int(), startTime: z.string(), bootId: z.string() });

const recordSchema: z.ZodType<WorkloadRecord> = z.object({
  version: z.literal(1),
  kind: z.enum(['agent', 'install']),
  workload: z.object({ namespace: z.string(), name: z.string(), uid: z.string() }),
  key: z.string(),
  instance: z.string(),
  specHash: z.string(),
  shim: identity,
  sandbox: identity.optional(),
  controlSocket: z.string(),
  address: z.string().optional(),
  startedAt: z.number(),
  limitsEnforced: z.boolean(),
  limitsMessage: z.string().optional(),
  cgroups: z.array(z.string()),
  exit: z
    .object({
      code: z.number().nullable(),
      signal: z.string().nullable(),
      at: z.number(),
      cause: z.string().optional(),
    })
    .optional(),
});

/** Reads a shim's record. Undefined when there is none or it is not one of this version. */
export function readRecord(path: string): WorkloadRecord | undefined {
  try {
    return recordSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return undefined;
  }
}

/** True while the very shim that wrote the record runs. */
export function isAlive(record: { readonly shim: ProcessIdentity }): boolean {
  return isRunning(record.shim);
}
