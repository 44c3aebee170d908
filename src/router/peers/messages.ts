import type { WireKey } from '#wire/keys.ts';
import { seal, unseal } from '#wire/seal.ts';
import type { Ended } from '../mcp/sessions.ts';

/**
 * What routers say to each other. Each message is sealed with a key that only routers have, for one purpose, and
 * good for a minute by the clocks of both. Said again, a message changes nothing.
 */
export const peerPaths = { ended: '/.ploinky/sessions/ended', list: '/.ploinky/sessions' } as const;

/** A message is one sealed value, which `seal` keeps below this, in bytes. */
export const longestMessage = 1024;

/** A router makes itself known to another and asks which sessions have ended. */
export interface Greeting {
  /** Where the sender is reached, `IP:PORT`. */
  readonly from: string;
  /** The sender could not reach the receiver for a time: the receiver should ask in turn. */
  readonly missed: boolean;
}

type EndedPurpose = 'peer-ended' | 'peer-list';
const greetingPurpose = 'peer-greeting';
const goodSeconds = 60;
const longestKey = 64;
/** What 1 KiB of base64url holds besides what sealing adds (33 bytes) and the message's own members. */
const endedBytes = 690;

/**
 * As many messages as it takes, at least one. `now` in milliseconds since the epoch. A key that is longer than any
 * router's is left out: nobody would hear it.
 */
export function sealEnded(
  keys: readonly WireKey[],
  purpose: EndedPurpose,
  ended: readonly Ended[],
  now: number,
): readonly string[] {
  const x = Math.floor(now / 1000) + goodSeconds;
  return packed(ended).map((e) => seal(keys, purpose, { x, e }));
}

type Entry = readonly [key: string, expires: number];

/** At least one pack, perhaps empty; none is too large to be sealed. */
function packed(ended: readonly Ended[]): Entry[][] {
  let pack: Entry[] = [];
  let bytes = 0;
  const packs = [pack];
  for (const { key, expires } of ended) {
    if (key.length > longestKey) continue;
    const entry: Entry = [key, expires];
    const size = Buffer.byteLength(JSON.stringify(entry)) + 1;
    if (bytes + size > endedBytes) {
      pack = [];
      packs.push(pack);
      bytes = 0;
    }
    pack.push(entry);
    bytes += size;
  }
  return packs;
}

/** Undefined for what no router has said for this purpose within the last minute. */
export function openEnded(
  keys: readonly WireKey[],
  purpose: EndedPurpose,
  message: string,
  now: number,
): readonly Ended[] | undefined {
  const said = unseal(keys, purpose, message);
  if (!isFresh(said, now) || !Array.isArray(said['e'])) return undefined;
  const ended = said['e'].map(readEnded);
  return ended.every((one) => one !== undefined) ? ended : undefined;
}

export function sealGreeting(keys: readonly WireKey[], { from, missed }: Greeting, now: number): string {
  return seal(keys, greetingPurpose, { x: Math.floor(now / 1000) + goodSeconds, f: from, m: missed });
}

/** Undefined as with `openEnded`. */
export function openGreeting(keys: readonly WireKey[], message: string, now: number): Greeting | undefined {
  const said = unseal(keys, greetingPurpose, message);
  if (!isFresh(said, now)) return undefined;
  const { f: from, m: missed } = said;
  if (typeof from !== 'string' || !isPeerAddress(from)) return undefined;
  return { from, missed: missed === true };
}

/** `IP:PORT`, never a name: nothing that a router is told makes it ask the DNS. */
export function isPeerAddress(text: string): boolean {
  return text.length <= 64 && /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-fA-F:.]+\]):\d{1,5}$/.test(text);
}

function isFresh(said: Record<string, unknown> | undefined, now: number): said is Record<string, unknown> {
  const until = said?.['x'];
  if (typeof until !== 'number') return false;
  const left = until - now / 1000;
  return left > 0 && left <= 2 * goodSeconds;
}

function readEnded(item: unknown): Ended | undefined {
  if (!Array.isArray(item)) return undefined;
  const [key, expires]: unknown[] = item;
  if (typeof key !== 'string' || key.length > longestKey || typeof expires !== 'number') return undefined;
  return { key, expires };
}
