import { createCipheriv, createDecipheriv } from 'node:crypto';
import { isSecretName } from '#api/secrets.ts';
import { CodedError } from '#kit/errors.ts';
import { isObject } from '#kit/json.ts';
import { workspaceErrors } from '../errors.ts';

/** What `.ploinky/.secrets` holds. */
export interface StoredSecrets {
  /** By name: a value, or `$OTHER` (see src/api/secrets.ts). */
  readonly secrets: Readonly<Record<string, string>>;
  /** When each was set last, ISO 8601; a file of another Ploinky has none. */
  readonly changed: Readonly<Record<string, string>>;
}

export const noSecrets: StoredSecrets = { secrets: {}, changed: {} };

const nonceBytes = 12;
const tagBytes = 16;

/** The Ploinky contract's form: base64 of nonce, tag and AES-256-GCM of `{version: 1, secrets: {…}}`. */
export function sealSecrets(stored: StoredSecrets, key: Buffer, nonce: Buffer): string {
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const text = JSON.stringify({ version: 1, ...stored });
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return `${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64')}\n`;
}

/** Opens it with the first of the keys that fits. Throws SecretsUnreadable; never takes what it cannot read for empty. */
export function openSecrets(text: string, keys: readonly Buffer[], path: string): StoredSecrets {
  const sealed = sealedBytes(text, path);
  if (keys.length === 0) {
    throw unreadable(
      `${path} cannot be decrypted: the workspace has no master key`,
      'Put back its .ploinky/master.key, or set PLOINKY_MASTER_KEY as it was; or remove the file and set the secrets anew.',
    );
  }
  for (const key of keys) {
    const plain = decrypt(sealed, key);
    if (plain !== undefined) return parse(plain, path);
  }
  throw unreadable(
    `${path} cannot be decrypted: it belongs to another master key, or it was changed`,
    'Put back .ploinky/master.key or PLOINKY_MASTER_KEY as it was when the secrets were set, or a copy of the file.',
  );
}

function sealedBytes(text: string, path: string): Buffer {
  const trimmed = text.trim();
  if (/^[A-Za-z0-9+/]+={0,2}$/.test(trimmed)) {
    const bytes = Buffer.from(trimmed, 'base64');
    if (bytes.length > nonceBytes + tagBytes) return bytes;
  }
  if (/^\s*(export\s+)?[A-Za-z_]\w*\s*=/m.test(trimmed)) {
    throw new CodedError(workspaceErrors.SecretsPlain, `${path} is not encrypted: it has NAME=value lines`, {
      remedy: `Encrypt it: ploinky secret import '${path}'`,
    });
  }
  throw unreadable(
    `${path} is damaged: it is not what Ploinky writes`,
    'Put back a copy, or remove it and set the secrets anew.',
  );
}

function decrypt(sealed: Buffer, key: Buffer): string | undefined {
  const nonce = sealed.subarray(0, nonceBytes);
  const tag = sealed.subarray(nonceBytes, nonceBytes + tagBytes);
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes }).setAuthTag(tag);
    const body = decipher.update(sealed.subarray(nonceBytes + tagBytes));
    return Buffer.concat([body, decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

function parse(text: string, path: string): StoredSecrets {
  const value: unknown = JSON.parse(text);
  const secrets = isObject(value) && value['version'] === 1 ? value['secrets'] : undefined;
  if (!isObject(value) || !isObject(secrets)) {
    throw unreadable(`${path} was written by a newer Ploinky`, 'Use that version, or a copy of the file.');
  }
  return { secrets: strings(secrets), changed: isObject(value['changed']) ? strings(value['changed']) : {} };
}

function strings(map: Readonly<Record<string, unknown>>): Record<string, string> {
  const entries = Object.entries(map).flatMap(([name, value]) =>
    typeof value === 'string' && isSecretName(name) ? [[name, value] as const] : [],
  );
  return Object.fromEntries(entries);
}

function unreadable(message: string, remedy: string): CodedError {
  return new CodedError(workspaceErrors.SecretsUnreadable, message, { remedy });
}
