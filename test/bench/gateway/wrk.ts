import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cpuMicros } from '../harness/machine.ts';
import type { Scope } from '../harness/scope.ts';

/** One request that wrk repeats; `#ID#` in the body becomes another number each time. */
export interface Target {
  readonly port: number;
  readonly path: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Must be found in every answer, which must have status 200. */
  readonly expected: string;
}

export interface Outcome {
  readonly calls: number;
  readonly callsPerSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** CPU of the measured processes, in microseconds a call; NaN without /proc. */
  readonly micros: number;
}

export function hasProgram(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' }).status === 0;
}

const run = promisify(execFile);
let serial = 0;

/** Runs wrk on the core of the load. Throws when an answer was wrong, naming the first that was. */
export async function runWrk(
  scope: Scope,
  target: Target,
  order: { readonly connections: number; readonly seconds: number },
  pids: readonly number[] = [],
): Promise<Outcome> {
  serial += 1;
  const script = join(scope.folder, `wrk-${serial}.lua`);
  writeFileSync(script, scriptOf(target));
  const bound = scope.pinned ? ['taskset', '-c', '1'] : [];
  const url = `http://127.0.0.1:${target.port}${target.path}`;
  const flags = [
    '-t1',
    `-c${order.connections}`,
    `-d${order.seconds}s`,
    '--timeout',
    '30s',
    '-s',
    script,
    url,
  ];
  const [program = '', ...args] = [...bound, 'wrk', ...flags];
  const sum = () => pids.reduce((total, pid) => total + (cpuMicros(pid) ?? Number.NaN), 0);
  const before = sum();
  const { stdout } = await run(program, args);
  const used = sum() - before;
  const said = JSON.parse(stdout.slice(stdout.indexOf('{"')).split('\n')[0] ?? '') as WrkSays;
  if (said.wrong > 0 || said.errors > 0 || said.calls === 0) {
    throw new Error(
      `${said.wrong} wrong answers, ${said.errors} errors of ${said.calls}; first: ${said.first}`,
    );
  }
  return {
    calls: said.calls,
    callsPerSecond: said.calls / (said.micros / 1e6),
    p50: said.p50 / 1000,
    p99: said.p99 / 1000,
    micros: used / said.calls,
  };
}

interface WrkSays {
  readonly calls: number;
  readonly micros: number;
  readonly wrong: number;
  readonly errors: number;
  readonly p50: number;
  readonly p99: number;
  readonly first: string;
}

function scriptOf({ method = 'POST', path, port, headers = {}, body = '', expected }: Target): string {
  const [before = '', after] = body.split('#ID#');
  const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `
local threads, count = {}, 0
wrong, first = 0, ""
local head = ${lua(`${method} ${path} HTTP/1.1\r\n${lines.join('')}`)}
local before, after, expected = ${lua(before)}, ${after === undefined ? 'nil' : lua(after)}, ${lua(expected)}
function setup(thread) table.insert(threads, thread) end
function request()
  if ${method === 'GET'} then return head .. "\\r\\n" end
  count = count + 1
  local body = after and (before .. count .. after) or before
  return head .. "content-length: " .. #body .. "\\r\\n\\r\\n" .. body
end
function response(status, headers, body)
  if status == 200 and string.find(body, expected, 1, true) then return end
  wrong = wrong + 1
  if first == "" then first = status .. " " .. string.sub(body, 1, 300) end
end
function done(summary, latency)
  local wrong, first = 0, ""
  for _, thread in ipairs(threads) do
    wrong = wrong + thread:get("wrong")
    if first == "" then first = thread:get("first") end
  end
  local errors = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  first = first:gsub("[^%w %p]", " "):gsub("\\\\", "/"):gsub('"', "'")
  print(string.format('{"calls":%d,"micros":%d,"wrong":%d,"errors":%d,"p50":%f,"p99":%f,"first":"%s"}',
    summary.requests, summary.duration, wrong, errors, latency:percentile(50), latency:percentile(99), first))
end
`;
}

/** A Lua string of any text. */
function lua(text: string): string {
  const bytes = [...Buffer.from(text)].map((byte) =>
    byte >= 32 && byte < 127 && byte !== 34 && byte !== 92
      ? String.fromCharCode(byte)
      : `\\${String(byte).padStart(3, '0')}`,
  );
  return `"${bytes.join('')}"`;
}
