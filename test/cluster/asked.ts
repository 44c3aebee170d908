import { createReadStream } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';

/**
 * File to which what the product's service accounts asked of every cluster is added when it goes: what the rights of
 * the chart are compared with at the end of a run of the whole suite. Unset: nothing is kept.
 */
export const askedFileVariable = 'PLOINKY_ASKED';

const ours = /"username":"system:serviceaccount:[^:"]+:ploinky-/;

/** Adds the lines of an audit log that speak of our service accounts, each kind of request once. */
export async function keepWhatWasAsked(auditLog: string): Promise<void> {
  const target = process.env[askedFileVariable];
  if (target === undefined || target === '') return;
  const kept = new Map<string, string>();
  for await (const line of createInterface({ input: createReadStream(auditLog) })) {
    if (!ours.test(line)) continue;
    const { stage, verb, user, objectRef, responseStatus } = JSON.parse(line) as Asked;
    const { resource, subresource, namespace } = objectRef ?? {};
    const key = [stage, verb, user?.username, resource, subresource, namespace, responseStatus?.code].join(
      ' ',
    );
    if (!kept.has(key)) kept.set(key, line);
  }
  if (kept.size > 0) await appendFile(target, `${[...kept.values()].join('\n')}\n`);
}

interface Asked {
  readonly stage?: string;
  readonly verb?: string;
  readonly user?: { readonly username?: string };
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}
