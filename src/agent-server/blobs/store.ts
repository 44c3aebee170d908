import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { BlobInfo } from '#wire/blobs.ts';
import type { ByteRange } from '../files/byte-range.ts';
import type { Validators } from '../files/preconditions.ts';

/** What a new blob is called, and how it is checked. */
export interface Upload {
  /** Default: a new one. */
  readonly id?: string;
  readonly mime: string;
  readonly filename: string | null;
  /** Bytes, where the client says so. */
  readonly bytes: number | undefined;
  /** Seconds that it stays; 0: until it is deleted. */
  readonly ttlSeconds: number;
  /** Digest in hex that it must have. */
  readonly sha256: string | undefined;
  /** Where clients get it, less its id; only told. */
  readonly url: string | undefined;
}

/** A blob that was found. Whoever found it closes it. */
export interface FoundBlob {
  readonly info: BlobInfo;
  readonly validators: Validators;
  /** Writes a part as the body of an answer, and ends it. Never rejects. */
  send(range: ByteRange, response: ServerResponse): Promise<void>;
  /** All of it. */
  read(): Promise<Buffer>;
  close(): Promise<void>;
}

export interface BlobPage {
  readonly blobs: readonly BlobInfo[];
  /** The id after which the next page begins; absent on the last. */
  readonly next?: string;
}

/** Where an agent's blobs are. Every method rejects with BlobError. */
export interface BlobStore {
  /** Resolves when the blob is on disk, whole, and can be found; until then nothing of it can, and never if this rejects. */
  put(upload: Upload, body: Readable): Promise<BlobInfo>;
  find(id: string): Promise<FoundBlob | undefined>;
  /** By id, after the one given. */
  list(limit: number, after?: string): Promise<BlobPage>;
  /** False: there was none. */
  remove(id: string): Promise<boolean>;
  usage(): Promise<{ readonly bytes: number; readonly blobs: number }>;
  /**
   * The blob is a file below the agent's workspace when this resolves, as tools expect; false: there is none. A store of files
   * has nothing to do.
   */
  bring(id: string): Promise<boolean>;
  /** Removes what has expired, and what broken uploads left. */
  sweep(): Promise<void>;
}
