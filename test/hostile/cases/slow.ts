import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { descriptorsOf } from '../../bench/harness/machine.ts';
import { until } from '../../bench/harness/scope.ts';
import { alongside } from '../alongside.ts';
import type { HostileCase, Refusal } from '../case.ts';
import { assertServes } from '../client.ts';
import type { Attacked, Place } from '../place.ts';

// Clients that take their time, each to hold a connection for nothing: Debian's slowhttptest in each of its modes.

const program = 'slowhttptest';
const connections = 200;

/** The deadlines of these clients, shorter than they are by default so that the test is. */
const short = new WeakMap<Place, Promise<Attacked>>();
function impatient(place: Place): Promise<Attacked> {
  const limits =
    'headersTimeoutMs=1500,bodyTimeoutMs=1500,unreadMs=1500,unreadAnswerMs=1500,keepAliveTimeoutMs=1500';
  const known = short.get(place) ?? place.startRouter(['--limits', limits]);
  short.set(place, known);
  return known;
}

interface Run {
  readonly text: string;
  readonly ms: number;
}

/** Ends when no connection is left, or after `-l` seconds. */
function run(args: readonly string[]): Promise<Run> {
  const begun = performance.now();
  const common = ['-c', String(connections), '-r', String(connections), '-l', '60', '-p', '5'];
  return new Promise((resolve, reject) => {
    execFile(program, [...args, ...common], { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (error !== null && 'errno' in error) reject(error);
      else resolve({ text: `${stdout}${stderr}`, ms: performance.now() - begun });
    });
  });
}

function missing(): string | undefined {
  const found = spawnSync(program, ['-h']).error === undefined;
  return found ? undefined : `${program} is missing: sudo apt-get install ${program}`;
}

/** Each connection has ended before the minute that the attack takes, and others were served meanwhile. */
async function attack(place: Place, args: (port: number) => readonly string[]) {
  const attacked = await impatient(place);
  const target = { ...place, router: attacked };
  const { outcome, latencies } = await alongside(target, () => run(args(attacked.port)));
  assert.match(outcome.text, /No open connections left/, outcome.text.slice(-2_000));
  assert.ok(outcome.ms < 45_000, `it took ${Math.round(outcome.ms)} ms until the last had ended`);
  await assertServes(attacked.port);
  const seconds = Math.round(outcome.ms / 1000);
  return { answer: `all cut off within ${seconds} s`, ms: latencies.at(-1) ?? Number.NaN };
}

/**
 * What a client with a tiny window does not read is soon in the kernel's hands, so that the attack itself cannot tell
 * when the router is rid of it: the router's descriptors can.
 */
async function attackByReading(place: Place): Promise<Refusal> {
  const attacked = await impatient(place);
  const target = { ...place, router: attacked };
  const before = descriptorsOf(attacked.pid);
  const args = ['-X', '-k', '10', '-w', '1', '-y', '32', '-n', '5', '-z', '1', '-l', '60', '-t', 'GET'];
  const many = ['-c', String(connections), '-r', String(connections)];
  const begun = performance.now();
  const child = spawn(program, [...args, ...many, ...url(attacked.port, '/MCPBrowserClient.js')], {
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  try {
    const { latencies } = await alongside(target, async () => {
      const open = () => descriptorsOf(attacked.pid) - before;
      await until('the connections are there', async () => open() > connections / 2 || undefined);
      await until('the router is rid of them', async () => open() < connections / 20 || undefined, 45_000);
    });
    assert.equal(child.exitCode, null, 'the attack ended first');
    await assertServes(attacked.port);
    const seconds = Math.round((performance.now() - begun) / 1000);
    return { answer: `all cut off within ${seconds} s`, ms: latencies.at(-1) ?? Number.NaN };
  } finally {
    child.kill();
    await ended;
  }
}

/** A request of the same size that does not take its time is served on such a connection. */
async function control(place: Place): Promise<string> {
  const { port } = await impatient(place);
  await assertServes(port);
  await assertServes(port, '/mcp');
  // A server without deadlines would still hold what this one lets go: a connection that says nothing.
  const silent = connect(port, '127.0.0.1');
  await new Promise((resolve) => silent.once('connect', resolve));
  silent.write('POST /mcp HTTP/1.1\r\n');
  const ended = new Promise((resolve) => silent.once('close', resolve));
  silent.resume();
  await ended;
  return 'clients that send and read at once are served';
}

const url = (port: number, path: string) => ['-u', `http://127.0.0.1:${port}${path}`];

export const slow: readonly HostileCase[] = [
  {
    name: 'slowhttptest: slow headers (Slowloris)',
    attack: (place) => attack(place, (port) => ['-H', '-i', '1', '-x', '10', ...url(port, '/mcp')]),
    control,
    missing,
  },
  {
    name: 'slowhttptest: slow body (R-U-Dead-Yet)',
    attack: (place) =>
      attack(place, (port) => [
        ...['-B', '-i', '1', '-x', '10', '-s', '8192', '-f', 'application/json', '-t', 'POST'],
        ...url(port, '/mcp'),
      ]),
    control,
    missing,
  },
  {
    name: 'slowhttptest: ranges (Apache killer)',
    attack: (place) =>
      attack(place, (port) => ['-R', '-a', '10', '-b', '3000', ...url(port, '/MCPBrowserClient.js')]),
    control,
    missing,
  },
  {
    name: 'slowhttptest: slow read',
    attack: attackByReading,
    control,
    missing,
  },
];
