import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startAgentServer } from '../harness/agent-server.ts';
import { startApi } from '../harness/api.ts';
import { childrenOf } from '../harness/machine.ts';
import { checkout, type Scope, until } from '../harness/scope.ts';
import { freePort } from '../router-call.ts';

/** Where files go in and out: how curl gets there, and whose CPU and memory that costs. */
export interface Way {
  readonly title: string;
  /** Arguments of curl that name the server. */
  readonly at: readonly string[];
  /** Puts the file there and gives the arguments for taking it back. */
  readonly put: readonly string[];
  /** The URL of what was put, from the answer. */
  readonly urlOf: (answer: string) => string;
  readonly pids: () => readonly number[];
}

export interface Stand {
  readonly nginx: Way;
  readonly agentServer: Way;
  readonly router: Way;
}

/** nginx with sendfile and dav, an agent-server, and one behind a router. */
export async function openStand(scope: Scope): Promise<Stand> {
  const nginx = await startNginx(scope);
  const direct = await startAgentServer(scope, { mcp: {}, withoutTokens: true });
  const api = await startApi(scope);
  const made = await api.createAgent('files');
  const behind = await startAgentServer(scope, { mcp: {}, ...made });
  await api.publish(made.agent, { uid: behind.instance, address: `unix:${behind.socket}` });
  const port = await freePort();
  // As it is shipped: what the sources need for themselves is not what files cost.
  const router = api.startFile(join(checkout, 'dist/router.mjs'), ['--listen', `127.0.0.1:${port}`]);
  await until(
    'the router is ready',
    async () => (await fetch(`http://127.0.0.1:${port}/ready`)).ok || undefined,
  );
  const ours = (url: string) => (answer: string) => `${url}/${(JSON.parse(answer) as { id: string }).id}`;
  return {
    nginx,
    agentServer: {
      title: 'agent-server',
      at: ['--unix-socket', direct.socket],
      put: ['-X', 'POST', 'http://localhost/blobs'],
      urlOf: ours('http://localhost/blobs'),
      pids: () => [direct.pid],
    },
    router: {
      title: 'through the router',
      at: [],
      put: ['-X', 'POST', `http://127.0.0.1:${port}/blobs/files`],
      urlOf: ours(`http://127.0.0.1:${port}/blobs/files`),
      pids: () => [router.pid, behind.pid],
    },
  };
}

async function startNginx(scope: Scope): Promise<Way> {
  const socket = join(scope.folder, 'nginx.sock');
  const files = join(scope.folder, 'nginx-files');
  mkdirSync(files);
  chmodSync(scope.folder, 0o755);
  const config = join(scope.folder, 'nginx.conf');
  writeFileSync(config, configOf(scope.folder, socket, files));
  const { pid } = scope.run('nginx', ['-c', config]);
  await until('nginx serves', () => {
    execFileSync('curl', ['-s', '--unix-socket', socket, 'http://localhost/']);
    return Promise.resolve(true);
  });
  return {
    title: 'nginx',
    at: ['--unix-socket', socket],
    put: ['http://localhost/file'],
    urlOf: () => 'http://localhost/file',
    pids: () => childrenOf(pid),
  };
}

function configOf(folder: string, socket: string, files: string): string {
  const temporary = ['proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  return `daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log ${folder}/nginx.log;
user ${process.env['USER'] ?? 'root'};
events { worker_connections 256; }
http {
  ${temporary.join(' ')}
  client_body_temp_path ${files}/.temp;
  access_log off; sendfile on; tcp_nopush on; client_max_body_size 0;
  server { listen unix:${socket}; root ${files}; location / { dav_methods PUT DELETE; } }
}
`;
}
