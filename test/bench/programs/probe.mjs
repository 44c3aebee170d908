// Loaded into a process that is measured, by `node --import`: answers one word a connection on PROBE_SOCKET with a
// line of JSON, so that memory and event-loop lag are seen from within without the product knowing of it.
//   heap: bytes in use after a collection (needs --expose-gc) · lag: milliseconds since the last `lag`
//   floor: the same after a collection that gives free pages back, which V8 else keeps for what may come
//   resources: what keeps the process alive, by kind, as process.getActiveResourcesInfo says
// PROBE_BALLAST_MIB fills the heap with live objects first.
import { createServer } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const resolutionMs = 1;
const lag = monitorEventLoopDelay({ resolution: resolutionMs });
lag.enable();

function heap() {
  globalThis.gc?.();
  globalThis.gc?.();
  return memory();
}

function floor() {
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  return memory();
}

function memory() {
  const { heapUsed, heapTotal, external, rss } = process.memoryUsage();
  return { heapUsed, heapTotal, external, rss };
}

/** Beyond the timer's own period; nanoseconds inside, milliseconds outside. */
function takeLag() {
  const ms = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - resolutionMs);
  const taken = {
    p50: ms(lag.percentile(50)),
    p99: ms(lag.percentile(99)),
    max: ms(lag.max),
    count: lag.count,
  };
  lag.reset();
  return taken;
}

/** Small objects that point to each other, as a busy program has them: about 100 bytes each. */
function fillHeap(mebibytes) {
  const kept = [];
  while (process.memoryUsage().heapUsed < mebibytes * 1_048_576) {
    for (let index = 0; index < 100_000; index += 1) {
      kept.push({ id: index, name: `object ${index}`, next: kept[index], at: [index, index + 1] });
    }
  }
  return kept;
}

const ballast = fillHeap(Number(process.env.PROBE_BALLAST_MIB ?? 0));

function resources() {
  const counts = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

const answers = { heap, floor, lag: takeLag, resources, size: () => ({ objects: ballast.length }) };
const server = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.once('data', (word) => socket.end(`${JSON.stringify(answers[String(word).trim()]())}\n`));
});
server.listen(process.env.PROBE_SOCKET);
server.unref();
