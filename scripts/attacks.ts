import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bwrapAvailability } from '#test/fixtures/driver-host.ts';
import { groups, persistence } from '../test/attacks/groups/groups.ts';
import { race } from '../test/attacks/groups/race.ts';
import { type Harness, openHarness } from '../test/attacks/harness.ts';
import { failuresOf, type Row, runGroups } from '../test/attacks/run.ts';
import { missingPeer, peerVersion } from '../test/attacks/substrates/peer.ts';
import { securityTable } from '../test/attacks/table.ts';

// Makes every attack without a sandbox, in another one and in ours, and writes what each came to into
// docs/security-table.md and .out/attacks.json. Runs in a network namespace of its own, with the addresses of cloud
// metadata. Exits with 1 when one works in ours.

const root = join(import.meta.dirname, '..');
const peers = join(root, 'test/peers');
const inside = 'inside-its-own-network';
/** Addresses that listen there: cloud metadata, and one that stands for the internet. */
const hosts = { 'cloud metadata': '169.254.169.254', 'a host of the internet': '203.0.113.10' };

const availability = await bwrapAvailability();
if (!availability.ok) refuse(availability.reason);
if (process.getuid?.() !== 0) refuse('the controls need root');
if (process.argv[2] === inside) process.exit(await attack());
installPeer();
process.exit(enterNetwork());

function refuse(why: string): never {
  console.error(`The attacks cannot be made: ${why}.`);
  process.exit(1);
}

function installPeer(): void {
  if (!existsSync(join(peers, 'node_modules/@anthropic-ai/sandbox-runtime')))
    spawnSync('npm', ['install', '--no-save', '--no-audit', '--no-fund'], { cwd: peers, stdio: 'inherit' });
}

function enterNetwork(): number {
  const addresses = Object.values(hosts).map((address) => `ip addr add ${address}/32 dev lo`);
  const script = [
    'ip link set lo up',
    ...addresses,
    'ip link add host0 type veth peer name host1; exec "$0" "$@"',
  ].join(' && ');
  const command = [process.execPath, import.meta.filename, inside];
  const { status } = spawnSync('unshare', ['--net', '/bin/sh', '-c', script, ...command], {
    stdio: 'inherit',
  });
  return status ?? 1;
}

async function attack(): Promise<number> {
  const absent = missingPeer();
  if (absent !== undefined) console.log(`NOT RUN: the peer: ${absent}`);
  const harness = await openHarness(hosts);
  try {
    const rows = await runGroups(harness, [...groups, race(10_000)], absent === undefined, console.log);
    const writable = await runWritable(harness, absent === undefined);
    report(rows, writable, absent === undefined ? peerVersion() : undefined);
    return failuresOf(rows).length === 0 ? 0 : 1;
  } finally {
    await harness.close();
  }
}

/** The same attacks on a project that is writable, where ours defends nothing. */
function runWritable(harness: Harness, hasPeer: boolean): Promise<Row[]> {
  const reset = () => {
    harness.reset();
    execFileSync('chmod', ['-R', 'a+rwX', harness.target.project]);
  };
  return runGroups({ ...harness, ours: harness.oursWritable, reset }, [persistence], hasPeer);
}

function report(rows: readonly Row[], writable: readonly Row[], peer: string | undefined): void {
  const bubblewrap = execFileSync('bwrap', ['--version'], { encoding: 'utf8' }).trim();
  const ofProject = writable.filter(({ name }) => name.includes('project') || name.includes('.git'));
  const table = securityTable({ rows, peer, bubblewrap, writable: ofProject });
  mkdirSync(join(root, '.out'), { recursive: true });
  writeFileSync(
    join(root, '.out/attacks.json'),
    `${JSON.stringify({ rows, writable, peer, bubblewrap }, null, 2)}\n`,
  );
  if (peer !== undefined) writeFileSync(join(root, 'docs/security-table.md'), table);
  console.log(`\n${table}`);
  for (const { name, ours } of failuresOf(rows)) console.log(`FAILED: ${name} works in ours: ${ours.detail}`);
}
