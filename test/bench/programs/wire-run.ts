/**
 * Times the wire tokens beside jose in one process, taking turns; prints one line of JSON. Needs --expose-gc.
 *   wire-run.ts → {rounds: [{mint, verify, joseSign, joseVerify, joseVerify64}], replay: {...}}, microseconds each
 */
import { createSecretKey, randomBytes } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import { systemClock } from '#kit/clock.ts';
import { systemRandom } from '#kit/random.ts';
import { createReplayWindow } from '#wire/replay.ts';
import { createVerifier, mintInvocation } from '#wire/token.ts';

const agent = { namespace: 'default', name: 'bench', uid: '00000000-0000-4000-8000-000000000001' };
const key = { kid: 'bench', secret: randomBytes(32) };
const joseKey = createSecretKey(key.secret);
const call = { tool: 'echo', arguments: { text: 'a short argument', count: 3 } };
const calls = 4_000;
const jtis = 1_000_000;

const mint = () =>
  mintInvocation(key, {
    agent,
    instance: 'instance',
    caller: 'router:first-party',
    user: null,
    call,
    mcp: { session: 'session', revision: '2025-11-25', capabilities: {} },
    now: Date.now(),
    random: systemRandom,
  });
/** What the same claims cost to sign with jose. */
const claims = JSON.parse(Buffer.from(mint().split('.')[1] ?? '', 'base64url').toString()) as Record<
  string,
  unknown
>;
// A busy machine takes longer than a token lives.
claims['exp'] = Number(claims['exp']) + 3_600;
const joseSign = () => new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'JWT' }).sign(joseKey);
const joseVerify = (token: string) =>
  jwtVerify(token, joseKey, { audience: 'agent:default/bench', issuer: 'ploinky-router' });

async function timed(work: () => void | Promise<void>): Promise<number> {
  const { user, system } = process.cpuUsage();
  await work();
  const after = process.cpuUsage();
  return (after.user + after.system - user - system) / calls;
}

async function round(): Promise<Record<string, number>> {
  const verifier = createVerifier({
    keys: [key],
    audience: 'agent:default/bench',
    instance: 'instance',
    clock: systemClock,
    replay: createReplayWindow({ clock: systemClock }),
  });
  const tokens: string[] = [];
  const joseTokens: string[] = [];
  const mintMicros = await timed(() => {
    for (let index = 0; index < calls; index += 1) tokens.push(mint());
  });
  const verifyMicros = await timed(() => {
    for (const token of tokens) verifier.verify(token, call);
  });
  const joseSignMicros = await timed(async () => {
    for (let index = 0; index < calls; index += 1) joseTokens.push(await joseSign());
  });
  const joseVerifyMicros = await timed(async () => {
    for (const token of joseTokens) await joseVerify(token);
  });
  const joseVerify64 = await timed(async () => {
    for (let at = 0; at < joseTokens.length; at += 64) {
      await Promise.all(joseTokens.slice(at, at + 64).map(joseVerify));
    }
  });
  return {
    mint: mintMicros,
    verify: verifyMicros,
    joseSign: joseSignMicros,
    joseVerify: joseVerifyMicros,
    joseVerify64,
  };
}

function memory(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Bytes a remembered token id, and whether the window refuses what does not fit. */
function measureReplay(): Record<string, number | string> {
  const replay = createReplayWindow({ clock: systemClock, capacity: jtis });
  const expires = Date.now() + 60_000;
  const before = memory();
  const begun = performance.now();
  for (let index = 0; index < jtis; index += 1) {
    if (replay.claim(randomBytes(16), expires) !== 'fresh') throw new Error('a fresh id was refused');
  }
  const micros = ((performance.now() - begun) * 1000) / jtis;
  const bytes = memory() - before;
  return {
    jtis,
    bytesPerJti: bytes / jtis,
    totalMiB: bytes / 1_048_576,
    claimMicros: micros,
    whenFull: replay.claim(randomBytes(16), expires),
  };
}

// Servers live long: what the compiler has not seen often enough yet is not what is measured, on either side.
const warm: Record<string, number>[] = [];
for (let index = 0; index < 4; index += 1) warm.push(await round());
const rounds: Record<string, number>[] = [];
for (let index = 0; index < 5; index += 1) rounds.push(await round());
console.log(`result ${JSON.stringify({ calls, warm, rounds, replay: measureReplay() })}`);
