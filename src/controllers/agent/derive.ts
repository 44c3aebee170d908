import { hkdfSync } from 'node:crypto';
import { deriveSubkey, type MasterKey } from '#wire/keys.ts';

export interface DerivedSecret {
  readonly name: string;
  readonly bytes: number;
  readonly format: 'hex' | 'base64' | 'base64url';
}

/**
 * A secret of one agent: HKDF from the key for `derived-master`, as the Ploinky contract has it, with the namespace for
 * the repository. It goes by names, not by the uid: an agent that is made again can read what it left.
 */
export function deriveSecret(
  master: MasterKey,
  agent: { readonly namespace: string; readonly name: string },
  { name, bytes, format }: DerivedSecret,
): string {
  const { secret } = deriveSubkey(master, 'derived-master');
  const info = `ploinky/agent-secret/${agent.namespace}/${agent.name}/${name}/v1`;
  return Buffer.from(hkdfSync('sha256', secret, Buffer.alloc(0), info, bytes)).toString(format);
}
