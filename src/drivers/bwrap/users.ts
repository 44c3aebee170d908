import { createHash } from 'node:crypto';

/**
 * First of 2^28 user ids that no distribution hands out: systemd's table of ids (UIDS-GIDS) leaves
 * 1879048192 to 2147483647 unused.
 */
const firstUserId = 0x7000_0000;
const userIdBits = 28;

/**
 * The user id that `subject` (an agent's namespace and name, or an install) of this workspace runs as when
 * root starts it. Always the same, so that its files stay its own; two of 1,000 agents share one with a
 * chance of 1 in 500, and then their sandboxes still do not see each other's files.
 */
export function userIdOf(workspaceId: string, subject: string): number {
  const digest = createHash('sha256').update(`${workspaceId}\n${subject}`).digest();
  return firstUserId + (digest.readUInt32BE(0) >>> (32 - userIdBits));
}
