import { randomBytes, randomUUID } from 'node:crypto';

/** Source of randomness, injected so that tests repeat. */
export interface Random {
  /** Uniform in [0, 1). For jitter only, never for secrets. */
  fraction(): number;
  /** `size` bytes fit for keys and nonces. */
  bytes(size: number): Buffer;
  /** A version 4 UUID (RFC 9562). */
  uuid(): string;
}

export const systemRandom: Random = {
  fraction: () => Math.random(),
  bytes: (size) => randomBytes(size),
  uuid: () => randomUUID(),
};
