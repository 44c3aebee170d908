// Loaded into a process that is measured, by `node --import`: one word a connection on INSPECT_SOCKET, answered in
// JSON. Costs nothing while nobody asks; the probe of the other benches measures lag, and wakes up for it.
//   heap: bytes in use after a collection (needs --expose-gc) · start: begins to sample the CPU · stop: the profile
import { createServer } from 'node:net';

let session;

async function start() {
  const { Session } = await import('node:inspector/promises');
  session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: 1000 });
  await session.post('Profiler.start');
  return {};
}

async function stop() {
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  return profile;
}

async function heap() {
  for (let times = 0; times < 3; times += 1) globalThis.gc();
  const { heapUsed, heapTotal, external, rss } = process.memoryUsage();
  return { heapUsed, heapTotal, external, rss };
}

const answers = { heap, start, stop };
const server = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.once('data', async (word) => socket.end(JSON.stringify(await answers[String(word).trim()]())));
});
server.listen(process.env.INSPECT_SOCKET);
server.unref();
