import { BlobError } from './errors.ts';

const [mebibyte, gibibyte] = [1024 ** 2, 1024 ** 3];

/** What an Agent may say in `spec.storage.blobs`, with what holds where it says nothing. */
export const defaultBlobLimits = {
  /** Bytes of one blob. */
  maxBlobBytes: 5 * gibibyte,
  /** Bytes of all blobs of the agent (of each replica, where each has a workspace of its own). */
  maxBytes: 20 * gibibyte,
  /** Blobs. */
  maxBlobs: 10_000,
  /** Seconds after which a blob is deleted whose upload does not say; 0: never. */
  ttlSeconds: 0,
  /** Bytes of a blob that resources/read gives; of larger ones the client is told where to get them. */
  maxReadBytes: 4 * mebibyte,
};

export type BlobLimits = typeof defaultBlobLimits;

/** With what a configuration says. */
export function readBlobLimits(
  said: { readonly [Name in keyof BlobLimits]?: number | undefined },
): BlobLimits {
  const limits = { ...defaultBlobLimits };
  for (const name of Object.keys(limits) as (keyof BlobLimits)[]) limits[name] = said[name] ?? limits[name];
  return limits;
}

/**
 * Seconds that a blob stays for which somebody asks for `said`; 0: until it is deleted. Where the Agent sets a time,
 * nothing stays longer.
 */
export function ttlWithin(
  said: number | undefined,
  { ttlSeconds: longest }: Pick<BlobLimits, 'ttlSeconds'>,
): number {
  if (said === undefined || (said === 0 && longest > 0)) return longest;
  return longest > 0 ? Math.min(said, longest) : said;
}

/** Bytes and blobs that there are, with those that are on their way in. */
export interface Usage {
  /** Throws BlobError when so many more find no place. */
  reserve(bytes: number): void;
  /** Takes back what did not come, or is no more. */
  release(bytes: number): void;
  begin(): void;
  end(): void;
  /** After a look at what is really there. */
  set(bytes: number, blobs: number): void;
  readonly bytes: number;
  readonly blobs: number;
}

export function createUsage(limits: BlobLimits): Usage {
  let bytes = 0;
  let blobs = 0;
  return {
    get bytes() {
      return bytes;
    },
    get blobs() {
      return blobs;
    },
    reserve(more) {
      if (bytes + more > limits.maxBytes) throw overQuota(limits);
      bytes += more;
    },
    release(fewer) {
      bytes = Math.max(0, bytes - fewer);
    },
    begin() {
      if (blobs >= limits.maxBlobs) throw tooMany(limits);
      blobs += 1;
    },
    end() {
      blobs = Math.max(0, blobs - 1);
    },
    set(newBytes, newBlobs) {
      bytes = newBytes;
      blobs = newBlobs;
    },
  };
}

function overQuota({ maxBytes }: BlobLimits): BlobError {
  return new BlobError('QuotaExceeded', `The blobs of this agent may have ${maxBytes} bytes together`, {
    remedy: 'Delete some, or give the Agent a larger spec.storage.blobs.maxBytes.',
  });
}

function tooMany({ maxBlobs }: BlobLimits): BlobError {
  return new BlobError('TooManyBlobs', `This agent may have ${maxBlobs} blobs`, {
    remedy: 'Delete some, or give the Agent a larger spec.storage.blobs.maxBlobs.',
  });
}
