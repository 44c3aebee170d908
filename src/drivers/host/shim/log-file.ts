import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { createRedactor } from '#kit/redact.ts';
import type { LogPlan } from '../shim-plan.ts';

/**
 * Appends to a log that never grows past `maxBytes`: a full file moves to `.1`, `.1` to `.2`, and the
 * oldest of `keep` is lost. Known secret values are taken out. Writing is synchronous on purpose: whoever floods the log waits for it.
 */
export function openRotatingLog(plan: LogPlan): Writable {
  let file = openAppend(plan.path);
  const redacting = createRedactor(plan.redact ?? []).stream();
  const append = (chunk: Uint8Array) => {
    if (file.size > 0 && file.size + chunk.length > plan.maxBytes) file = rotate(plan, file);
    file.size += writeAll(file.fd, chunk);
  };
  return new Writable({
    decodeStrings: true,
    write(chunk: Buffer, _encoding, done) {
      try {
        append(redacting.push(chunk));
      } catch {
        // A full disk must not end the agent; what could not be written is lost.
      }
      done();
    },
    final(done) {
      try {
        append(redacting.flush());
      } catch {
        // The disk is full.
      }
      closeSync(file.fd);
      done();
    },
  });
}

interface OpenLog {
  readonly fd: number;
  size: number;
}

function openAppend(path: string): OpenLog {
  const fd = openSync(path, 'a', 0o600);
  return { fd, size: fstatSync(fd).size };
}

function writeAll(fd: number, chunk: Uint8Array): number {
  let written = 0;
  while (written < chunk.length) written += writeSync(fd, chunk, written);
  return written;
}

/**
 * Opens the new file before anything moves: where it cannot be had, `full` stays the log, open, and what does
 * not fit is lost.
 */
function rotate(plan: LogPlan, full: OpenLog): OpenLog {
  const temporary = `${plan.path}~`;
  const next = openAppend(temporary);
  try {
    moveAside(plan);
    renameSync(temporary, plan.path);
  } catch (error) {
    closeSync(next.fd);
    throw error;
  }
  closeSync(full.fd);
  return next;
}

function moveAside(plan: LogPlan): void {
  for (let index = plan.keep - 1; index >= 0; index -= 1) {
    try {
      renameSync(index === 0 ? plan.path : `${plan.path}.${index}`, `${plan.path}.${index + 1}`);
    } catch {
      // Not there yet.
    }
  }
}
