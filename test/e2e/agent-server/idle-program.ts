import { createInterface } from 'node:readline';
import { startAgentServer } from '#agent-server/server.ts';
import { spawnerCommand, startQueueThread, testConfig } from '#agent-server/testing/harness.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';

// An agent-server as a process of its own, whose memory a test measures: says its address, and then, whenever it gets a
// line, its memory after a collection of garbage. Needs --expose-gc.

const server = await startAgentServer({
  config: {
    ...testConfig('/tmp'),
    mcp: { tools: [{ name: 'say', command: '/bin/echo', args: ['said'] }] },
    limits: { maxSessions: 100_000 },
  },
  listen: { type: 'tcp', host: '127.0.0.1', port: 0 },
  spawnerCommand,
  startQueueThread,
  clock: systemClock,
  random: systemRandom,
  log: silentLog,
  withoutTokens: true,
});
await server.settled;
process.stdout.write(`${server.address}\n`);
for await (const _ of createInterface(process.stdin)) {
  for (let round = 0; round < 4; round += 1) {
    globalThis.gc?.();
    await systemClock.sleep(20);
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  process.stdout.write(`${JSON.stringify({ rss, heapUsed, external })}\n`);
}
await server.close();
process.exit(0);
