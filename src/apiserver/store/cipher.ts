import { createCipheriv, createDecipheriv } from 'node:crypto';
import { TerminalError } from '#kit/errors.ts';
import type { Random } from '#kit/random.ts';

const format = 1;
const nonceLength = 12;
const tagLength = 16;

/** Seals what is stored of Secrets: AES-256-GCM with a random nonce; `place` is authenticated, so a row cannot be moved. */
export interface Cipher {
  seal(plain: string, place: string): Buffer;
  /** Throws TerminalError `StoreKeyWrong` when the key is not the one that sealed it, or the row was changed. */
  open(sealed: Uint8Array, place: string): string;
}

/** `key` is 32 bytes. */
export function createCipher(key: Uint8Array, random: Random): Cipher {
  return {
    seal(plain, place) {
      const nonce = random.bytes(nonceLength);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(place));
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(format), nonce, cipher.getAuthTag(), body]);
    },
    open(sealed, place) {
      const nonce = sealed.subarray(1, 1 + nonceLength);
      const tag = sealed.subarray(1 + nonceLength, 1 + nonceLength + tagLength);
      try {
        if (sealed[0] !== format) throw new Error('unknown format');
        const decipher = createDecipheriv('aes-256-gcm', key, nonce)
          .setAAD(Buffer.from(place))
          .setAuthTag(tag);
        const body = decipher.update(sealed.subarray(1 + nonceLength + tagLength));
        return Buffer.concat([body, decipher.final()]).toString('utf8');
      } catch (cause) {
        throw new TerminalError('StoreKeyWrong', `The stored Secret ${place} cannot be decrypted.`, {
          cause,
          remedy: 'Put back the secrets.key file that belongs to this data folder.',
        });
      }
    },
  };
}
