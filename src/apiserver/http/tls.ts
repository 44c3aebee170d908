import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import type { Clock } from '#kit/clock.ts';
import { writeFileAtomic } from '#kit/files.ts';
import { isObject } from '#kit/json.ts';

/** What the TLS listener and its kubeconfig are made from; kept in one file (0600) in the data folder. */
export interface TlsIdentity {
  readonly key: string;
  /** Self-signed: its own authority. */
  readonly cert: string;
  /** The bearer token of kubectl. */
  readonly token: string;
  /** The port taken last, tried again so that kubeconfigs stay good. 0: none. */
  readonly port: number;
}

const lifetimeDays = 365;
const renewDays = 60;
const dayMilliseconds = 24 * 60 * 60 * 1000;

/** Reads the kept identity, or makes one; a certificate near its end is replaced (the token stays). */
export async function loadTlsIdentity(
  folder: string,
  clock: Clock,
  randomBytes: (size: number) => Buffer,
): Promise<TlsIdentity> {
  const kept = await readKept(join(folder, 'tls.json'));
  if (kept !== undefined && !endsSoon(kept.cert, clock.now())) return kept;
  const token = kept?.token ?? randomBytes(32).toString('base64url');
  const identity = { ...(await selfSigned(clock.now())), token, port: kept?.port ?? 0 };
  await saveTlsIdentity(folder, identity);
  return identity;
}

export async function saveTlsIdentity(folder: string, identity: TlsIdentity): Promise<void> {
  await writeFileAtomic(join(folder, 'tls.json'), `${JSON.stringify(identity)}\n`, 0o600);
}

async function readKept(file: string): Promise<TlsIdentity | undefined> {
  try {
    const kept: unknown = JSON.parse(await readFile(file, 'utf8'));
    if (!isObject(kept)) return undefined;
    const { key, cert, token, port } = kept;
    if (typeof key !== 'string' || typeof cert !== 'string' || typeof token !== 'string' || token.length < 32)
      return undefined;
    return { key, cert, token, port: typeof port === 'number' ? port : 0 };
  } catch {
    return undefined;
  }
}

function endsSoon(cert: string, now: number): boolean {
  return new X509Certificate(cert).validToDate.getTime() - now < renewDays * dayMilliseconds;
}

async function selfSigned(now: number): Promise<{ key: string; cert: string }> {
  const made = await generate([{ name: 'commonName', value: 'ploinky workspace API' }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    notBeforeDate: new Date(now - dayMilliseconds),
    notAfterDate: new Date(now + lifetimeDays * dayMilliseconds),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  });
  return { key: made.private, cert: made.cert };
}
