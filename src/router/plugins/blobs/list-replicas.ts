import type { ServerResponse } from 'node:http';
import { isObject } from '#kit/json.ts';
import type { Target } from '#routing/target.ts';
import { writeJsonText } from '../../mcp/answer.ts';
import type { Services } from '../../services.ts';
import { collect } from '../../upstream/collect.ts';
import type { AgentCall } from '../../upstream/send.ts';

/** Of the replicas that take calls; each has a workspace of its own. */
export function slotsOf({ ready }: Target): number[] {
  const slots = ready.flatMap(({ slot }) => (slot === undefined ? [] : [slot]));
  return [...new Set(slots)];
}

interface Page {
  readonly blobs: readonly { readonly id: string }[];
  readonly next: string | undefined;
  readonly usage: { readonly bytes: number; readonly blobs: number };
  /** Each replica tells of all there are. */
  readonly shared: boolean;
}

/** One list of what all replicas have. One that gives none makes the answer, which could not be told from a whole one. */
export async function listReplicas(
  services: Services,
  target: Target,
  call: AgentCall,
  response: ServerResponse,
): Promise<void> {
  const limits = { maxBytes: services.limits.answerBytes };
  const ask = (slot: number) => collect(services.sender, { ...call, method: call.method, slot }, limits);
  const [first, ...others] = slotsOf(target);
  const answers = first === undefined ? [] : [await ask(first)];
  // Where all replicas have the same, each would look through all of it.
  if (!answers.some(({ status, text }) => status === 200 && readPage(text).shared))
    answers.push(...(await Promise.all(others.map(ask))));
  const noStore = { 'cache-control': 'no-store' };
  const refused = answers.find(({ status }) => status !== 200);
  if (refused !== undefined) {
    writeJsonText(response, refused.status, refused.text, noStore);
    return;
  }
  const all = answers.map(({ text }) => readPage(text));
  const pages = all.some(({ shared }) => shared) ? all.slice(0, 1) : all;
  writeJsonText(response, 200, JSON.stringify(joined(pages, limitOf(call.path))), noStore);
}

/** As the agent-server understands it: it has refused any other. */
function limitOf(path: string): number {
  return Number(new URLSearchParams(path.slice(path.indexOf('?') + 1)).get('limit') ?? 100);
}

function readPage(text: string): Page {
  const value: unknown = JSON.parse(text === '' ? '{}' : text);
  const { blobs, next, usage, shared } = isObject(value) ? value : {};
  return {
    blobs: Array.isArray(blobs) ? blobs : [],
    next: typeof next === 'string' ? next : undefined,
    usage: { bytes: 0, blobs: 0, ...(isObject(usage) && usage) },
    shared: shared === true,
  };
}

function joined(pages: readonly Page[], limit: number): object {
  const all = pages.flatMap(({ blobs }) => blobs).sort((one, other) => (one.id < other.id ? -1 : 1));
  const blobs = all.slice(0, limit);
  const hasMore = all.length > blobs.length || pages.some(({ next }) => next !== undefined);
  const sum = (of: 'bytes' | 'blobs') => pages.reduce((total, { usage }) => total + usage[of], 0);
  return {
    blobs,
    ...(hasMore && { next: blobs.at(-1)?.id }),
    usage: { bytes: sum('bytes'), blobs: sum('blobs') },
  };
}
