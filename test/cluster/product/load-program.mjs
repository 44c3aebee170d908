// Runs in a pod: calls through the router's Service at a steady rate until SIGTERM, then prints what came of it.
// PLAN: {url, agent, tool, args, expect, rate, kinds}; kinds are taken in turn.
import { writeFile } from 'node:fs/promises';

const { url, agent, tool, args, expect, rate, kinds } = JSON.parse(process.env.PLAN);
const begun = performance.now();
const failures = [];
const times = [];
const slow = [];
const perKind = {};
const answeredBy = {};
let open = 0;
let sent = 0;
let skipped = 0;

const revision = '2026-07-28';
const key = (name) => `io.modelcontextprotocol/${name}`;
const base = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

async function post(path, headers, message) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { ...base, ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    signal: AbortSignal.timeout(60_000),
  });
  return { response, text: await response.text() };
}

function check({ response, text }) {
  if (response.status !== 200 || !new RegExp(expect).test(text) || /"isError":\s*true/.test(text)) {
    throw new Error(`${response.status} ${text.slice(0, 300)}`);
  }
  const by = /by ([a-z0-9-]+)/.exec(text)?.[1];
  if (by !== undefined) answeredBy[by] = (answeredBy[by] ?? 0) + 1;
}

const sessions = [];
async function openSession() {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'load', version: '1' },
  };
  const { response, text } = await post(`/mcps/${agent}/mcp`, {}, { id: 0, method: 'initialize', params });
  const id = response.headers.get('mcp-session-id');
  if (id === null) throw new Error(`no session: ${response.status} ${text.slice(0, 300)}`);
  return { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
}

const calls = {
  async health() {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(60_000) });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    await response.text();
  },
  async session(turn) {
    const session = sessions[turn % sessions.length];
    const message = { id: turn, method: 'tools/call', params: { name: tool, arguments: args } };
    check(await post(`/mcps/${agent}/mcp`, session, message));
  },
  async initialize() {
    await openSession();
  },
  async stateless(turn) {
    const meta = { [key('protocolVersion')]: revision, [key('clientCapabilities')]: {} };
    const params = { _meta: meta, name: tool, arguments: args };
    const headers = { 'mcp-protocol-version': revision, 'mcp-method': 'tools/call', 'mcp-name': tool };
    check(await post(`/mcps/${agent}/mcp`, headers, { id: turn, method: 'tools/call', params }));
  },
};

async function one(kind, turn) {
  open += 1;
  sent += 1;
  perKind[kind] = (perKind[kind] ?? 0) + 1;
  const began = performance.now();
  try {
    await calls[kind](turn);
    const took = performance.now() - began;
    times.push(took);
    if (took > 1_000) slow.push({ at: Math.round(began - begun), took: Math.round(took), kind });
  } catch (error) {
    const cause = error.cause === undefined ? '' : ` (${error.cause.code ?? ''} ${error.cause.message})`;
    failures.push({
      at: Math.round(began - begun),
      took: Math.round(performance.now() - began),
      kind,
      error: error.message + cause,
    });
  } finally {
    open -= 1;
  }
}

const percentile = (part) =>
  Math.round(times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0);
const countKinds = (calls) =>
  Object.fromEntries(kinds.map((kind) => [kind, calls.filter((call) => call.kind === kind).length]));
function report() {
  times.sort((a, b) => a - b);
  const seconds = (performance.now() - begun) / 1000;
  const latency = { p50: percentile(0.5), p99: percentile(0.99), max: percentile(1) };
  const failed = failures.length;
  return {
    sent,
    failed,
    skipped,
    seconds,
    latency,
    perKind,
    answeredBy,
    slow: countKinds(slow),
    slowest: slow.toSorted((a, b) => b.took - a.took).slice(0, 5),
    failures: failures.slice(0, 20),
  };
}

for (let count = 0; count < 10; count += 1) sessions.push(await openSession());
await writeFile('/tmp/ready', '');
let ending = false;
process.on('SIGTERM', () => {
  ending = true;
});
for (let turn = 0; !ending; turn += 1) {
  const due = begun + (turn * 1000) / rate;
  const wait = due - performance.now();
  if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
  // Calls that hang must not use up the machine; they are told in the report.
  if (open > 400) skipped += 1;
  else void one(kinds[turn % kinds.length], turn);
}
while (open > 0) await new Promise((resolve) => setTimeout(resolve, 20));
process.stdout.write(`${JSON.stringify(report())}\n`);
process.exit(0);
