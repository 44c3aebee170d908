import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startApi } from '../harness/api.ts';
import { type Bench, CannotRun, type Goal } from '../harness/bench.ts';
import { childrenOf } from '../harness/machine.ts';
import { lineOf, requirePeers, type Scope, until } from '../harness/scope.ts';
import { median, medianRatio } from '../harness/stats.ts';
import { freePort } from '../router-call.ts';
import { hasProgram, type Outcome, runWrk, type Target } from './wrk.ts';

const rounds = 3;
const order = { connections: 64, seconds: 2 } as const;

interface Proxy {
  readonly title: string;
  readonly target: Target;
  readonly pids: readonly number[];
}

/** `/apis/<agent>/…` beside proxies that do nothing but pass on. */
export const gatewayApis: Bench = {
  name: 'gateway-apis',
  about: 'GET of a kibibyte below /apis, beside @fastify/reply-from and nginx, each on one core',
  goals: ['P12-over-reply-from', 'P12-of-nginx', 'P12-over-reply-from-by-cpu', 'P12-of-nginx-by-cpu'],
  async run(scope) {
    if (!hasProgram('wrk')) throw new CannotRun('wrk is missing: sudo apt-get install wrk');
    const { own, backendPort } = await openOwn(scope);
    const replyFrom = await openReplyFrom(scope, backendPort);
    const nginx = hasProgram('nginx') ? await openNginx(scope, backendPort) : undefined;
    const proxies = [own, replyFrom, ...(nginx === undefined ? [] : [nginx])];
    for (const { target } of proxies) await runWrk(scope, target, { ...order, seconds: 1 });
    const taken: Record<string, Outcome>[] = [];
    for (let index = 0; index < rounds; index += 1) {
      const samples: Record<string, Outcome> = {};
      for (const { title, target, pids } of proxies)
        samples[title] = await runWrk(scope, target, order, pids);
      taken.push(samples);
    }
    const of = (title: string, field: keyof Outcome) => (samples: Record<string, Outcome>) =>
      samples[title]?.[field] ?? Number.NaN;
    const rate = (other: string) =>
      medianRatio(taken, of(own.title, 'callsPerSecond'), of(other, 'callsPerSecond'));
    const cpu = (other: string) => medianRatio(taken, of(other, 'micros'), of(own.title, 'micros'));
    const noNginx = { skipped: 'nginx is missing: sudo apt-get install nginx-light' };
    const atLeast = { op: '>=', unit: '×' } as const;
    const goals: Goal[] = [
      { ...atLeast, name: 'P12-over-reply-from', target: 1.3, value: rate(replyFrom.title) },
      { ...atLeast, name: 'P12-of-nginx', target: 0.3, value: nginx ? rate(nginx.title) : noNginx },
      { ...atLeast, name: 'P12-over-reply-from-by-cpu', target: 1.3, value: cpu(replyFrom.title) },
      { ...atLeast, name: 'P12-of-nginx-by-cpu', target: 0.3, value: nginx ? cpu(nginx.title) : noNginx },
    ];
    const fields = ['callsPerSecond', 'p50', 'p99', 'micros'] as const;
    const rows = proxies.map(({ title }) => [
      title,
      ...fields.map((field) => median(taken.map(of(title, field)))),
    ]);
    const columns = ['', 'requests/s', 'p50 ms', 'p99 ms', 'CPU µs/request'];
    return {
      tables: [{ title: `c=${order.connections}, medians of ${rounds} rounds`, columns, rows }],
      goals,
      samples: taken,
      notes: ['The router mints a token for every request, writes its access line and counts it.'],
    };
  },
};

async function openOwn(scope: Scope): Promise<{ own: Proxy; backendPort: number }> {
  const api = await startApi(scope);
  const raw = await api.createAgent('raw');
  const socket = join(scope.folder, 'raw.sock');
  const script = join(import.meta.dirname, '../programs/raw-backend.ts');
  const args = [socket, raw.key.secret.toString('base64url'), raw.key.kid, 'raw-1'];
  const backend = scope.start(script, args, { side: 'load' });
  const backendPort = Number(await lineOf(backend.process, 'port '));
  await api.publish(raw.agent, { uid: 'raw-1', address: `unix:${socket}` });
  const port = await freePort();
  const router = api.startMain('router', ['--listen', `127.0.0.1:${port}`], { side: 'measured' });
  const target = pageAt(port, '/apis/raw/page');
  await until('the router serves', () => isServed(target));
  return { own: { title: 'router, /apis/raw/', target, pids: [router.pid] }, backendPort };
}

async function openReplyFrom(scope: Scope, backendPort: number): Promise<Proxy> {
  const port = await freePort();
  const script = join(import.meta.dirname, 'programs/reply-from.mjs');
  const args = [requirePeers(), `${port}`, `${backendPort}`];
  const { pid } = scope.start(script, args, { side: 'measured', env: { NODE_ENV: 'production' } });
  const target = pageAt(port, '/api/page');
  await until('reply-from serves', () => isServed(target));
  return { title: '@fastify/reply-from 12.6.5', target, pids: [pid] };
}

async function openNginx(scope: Scope, backendPort: number): Promise<Proxy> {
  const port = await freePort();
  const config = join(scope.folder, 'nginx.conf');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${scope.folder}/${name};`)
    .join(' ');
  writeFileSync(
    config,
    `daemon off; worker_processes 1; pid ${scope.folder}/nginx.pid; error_log ${scope.folder}/nginx.log;
user ${process.env['USER'] ?? 'root'};
events { worker_connections 1024; }
http {
  ${temporary}
  access_log ${scope.folder}/access.log combined buffer=32k;
  upstream backend { server 127.0.0.1:${backendPort}; keepalive 128; }
  server {
    listen 127.0.0.1:${port};
    keepalive_requests 10000000;
    location / { proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
`,
  );
  const { pid } = scope.run('nginx', ['-c', config], { side: 'measured' });
  const target = pageAt(port, '/api/page');
  await until('nginx serves', () => isServed(target));
  return { title: 'nginx, one worker', target, pids: childrenOf(pid) };
}

function pageAt(port: number, path: string): Target {
  return { port, path, method: 'GET', expected: '{"text":"xxx' };
}

async function isServed({ port, path }: Target): Promise<true | undefined> {
  return (await fetch(`http://127.0.0.1:${port}${path}`)).ok || undefined;
}
