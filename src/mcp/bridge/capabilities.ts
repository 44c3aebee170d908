import { isObject } from '#kit/json.ts';
import type { Params } from '../jsonrpc.ts';

export type Capabilities = Readonly<Record<string, unknown>>;

/** What a server may ask its client, and the capability that allows it. */
const questions: ReadonlyMap<string, string> = new Map([
  ['sampling/createMessage', 'sampling'],
  ['elicitation/create', 'elicitation'],
  ['roots/list', 'roots'],
]);

const nothing: Capabilities = {};

/**
 * The capabilities by which a client can be asked something, empty for one that cannot. Changes of its roots are
 * not passed on, so they are not promised.
 */
export function askableCapabilities(capabilities: Capabilities): Capabilities {
  const { sampling, elicitation, roots } = capabilities;
  if (sampling === undefined && elicitation === undefined && roots === undefined) return nothing;
  return {
    ...(sampling !== undefined && { sampling }),
    ...(elicitation !== undefined && { elicitation }),
    ...(roots !== undefined && { roots: {} }),
  };
}

export function canBeAsked(capabilities: Capabilities): boolean {
  const { sampling, elicitation, roots } = capabilities;
  return sampling !== undefined || elicitation !== undefined || roots !== undefined;
}

/** Whether a client with these capabilities may be asked this; an elicitation must be of a declared mode. */
export function mayAsk(capabilities: Capabilities, method: string, params: Params): boolean {
  const needed = questions.get(method);
  const declared = needed === undefined ? undefined : capabilities[needed];
  if (declared === undefined) return false;
  return method !== 'elicitation/create' || hasMode(declared, params['mode']);
}

/** `elicitation: {}` means forms, as revisions before 2025-11-25 had nothing else. */
function hasMode(elicitation: unknown, mode: unknown): boolean {
  if (!isObject(elicitation)) return false;
  if (mode === 'url') return elicitation['url'] !== undefined;
  return elicitation['form'] !== undefined || elicitation['url'] === undefined;
}
