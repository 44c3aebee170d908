import { posix, win32 } from 'node:path';
import type { Machine } from '../context.ts';
import { type Entry, type HttpServer, type Server, type StdioServer, shellCommand } from './server.ts';

export type Scope = 'user' | 'project';

/** An MCP client: where it keeps its servers and in which form. Each as its own documentation says. */
export interface Client {
  readonly id: string;
  readonly title: string;
  /** Its files, the usual one first. */
  readonly files: readonly { readonly scope: Scope; path(machine: Machine): string | undefined }[];
  readonly format: 'json' | 'toml';
  /** The member of the file that holds the servers, by name. */
  readonly holder: string;
  /** Undefined: its file takes no addresses. */
  readonly http: ((server: HttpServer) => Entry) | undefined;
  stdio(server: StdioServer): Entry;
  /** Its own command that does the same; undefined where it has none. */
  command?(name: string, server: Server, scope: Scope): string;
  /** What the person does then. */
  readonly next: string;
}

const plain = ({ command, args, env }: StdioServer): Entry => ({
  command,
  args,
  ...(Object.keys(env).length > 0 && { env }),
});
const typed = (server: StdioServer): Entry => ({ type: 'stdio', ...plain(server) });
const typedUrl = ({ url }: HttpServer): Entry => ({ type: 'http', url });
const onlyUrl = ({ url }: HttpServer): Entry => ({ url });

/** Options of a command line that set variables. */
function envOptions({ env }: StdioServer, option: string): string[] {
  return Object.entries(env).flatMap(([name, value]) => [option, `${name}=${value}`]);
}

const claudeCode: Client = {
  id: 'claude-code',
  title: 'Claude Code',
  files: [project('.mcp.json'), { scope: 'user', path: () => undefined }],
  format: 'json',
  holder: 'mcpServers',
  http: typedUrl,
  stdio: typed,
  command: (name, server, scope) =>
    shellCommand(
      server.kind === 'http'
        ? ['claude', 'mcp', 'add', '--scope', scope, '--transport', 'http', name, server.url]
        : [
            ...['claude', 'mcp', 'add', '--scope', scope, '--transport', 'stdio'],
            ...[...envOptions(server, '--env'), name, '--', server.command, ...server.args],
          ],
    ),
  next: 'Start `claude` in this folder; `/mcp` shows the server. A server of .mcp.json has to be approved once.',
};

const claudeDesktop: Client = {
  id: 'claude-desktop',
  title: 'Claude Desktop',
  files: [
    { scope: 'user', path: (machine) => inApplicationData(machine, 'Claude', 'claude_desktop_config.json') },
  ],
  format: 'json',
  holder: 'mcpServers',
  http: undefined,
  stdio: plain,
  next: 'Quit Claude Desktop wholly and start it again; its window of settings shows the server under Developer.',
};

const vscode: Client = {
  id: 'vscode',
  title: 'VS Code',
  files: [
    project('.vscode', 'mcp.json'),
    { scope: 'user', path: (machine) => inApplicationData(machine, 'Code', 'User', 'mcp.json') },
  ],
  format: 'json',
  holder: 'servers',
  http: typedUrl,
  stdio: typed,
  command: (name, server) =>
    shellCommand([
      'code',
      '--add-mcp',
      JSON.stringify({ name, ...(server.kind === 'http' ? typedUrl(server) : typed(server)) }),
    ]),
  next: 'Run “MCP: List Servers” from the command palette and start it there.',
};

const cursor: Client = {
  id: 'cursor',
  title: 'Cursor',
  files: [inHome('.cursor', 'mcp.json'), project('.cursor', 'mcp.json')],
  format: 'json',
  holder: 'mcpServers',
  http: onlyUrl,
  stdio: plain,
  next: 'Restart Cursor; its settings show the server under MCP, where it is switched on.',
};

const zed: Client = {
  id: 'zed',
  title: 'Zed',
  files: [
    {
      scope: 'user',
      path: (machine) =>
        machine.platform === 'win32'
          ? inApplicationData(machine, 'Zed', 'settings.json')
          : join(machine, xdgConfig(machine), 'zed', 'settings.json'),
    },
  ],
  format: 'json',
  holder: 'context_servers',
  http: onlyUrl,
  stdio: ({ command, args, env }) => ({ command, args, env }),
  next: 'The Agent panel’s settings show the server with a green dot once it answers.',
};

const codex: Client = {
  id: 'codex',
  title: 'Codex',
  files: [
    {
      scope: 'user',
      path: (machine) =>
        join(machine, machine.env['CODEX_HOME'] || join(machine, machine.home, '.codex'), 'config.toml'),
    },
    project('.codex', 'config.toml'),
  ],
  format: 'toml',
  holder: 'mcp_servers',
  http: onlyUrl,
  stdio: plain,
  command: (name, server) =>
    shellCommand(
      server.kind === 'http'
        ? ['codex', 'mcp', 'add', name, '--url', server.url]
        : ['codex', 'mcp', 'add', name, ...envOptions(server, '--env'), '--', server.command, ...server.args],
    ),
  next: 'Start `codex`; `/mcp` shows the server. A project’s file counts only where the project is trusted.',
};

const geminiCli: Client = {
  id: 'gemini-cli',
  title: 'Gemini CLI',
  files: [inHome('.gemini', 'settings.json'), project('.gemini', 'settings.json')],
  format: 'json',
  holder: 'mcpServers',
  http: ({ url }) => ({ httpUrl: url }),
  stdio: plain,
  command: (name, server, scope) =>
    shellCommand(
      server.kind === 'http'
        ? ['gemini', 'mcp', 'add', '--scope', scope, '--transport', 'http', name, server.url]
        : [
            ...['gemini', 'mcp', 'add', '--scope', scope, ...envOptions(server, '--env'), name],
            ...[server.command, '--', ...server.args],
          ],
    ),
  next: 'Start `gemini`; `/mcp` shows the server.',
};

export const clients: readonly Client[] = [claudeCode, claudeDesktop, vscode, cursor, zed, codex, geminiCli];

function join({ platform }: Machine, ...parts: readonly string[]): string {
  return (platform === 'win32' ? win32 : posix).join(...parts);
}

function project(...parts: readonly string[]): Client['files'][number] {
  return { scope: 'project', path: (machine) => join(machine, machine.folder, ...parts) };
}

function inHome(...parts: readonly string[]): Client['files'][number] {
  return { scope: 'user', path: (machine) => join(machine, machine.home, ...parts) };
}

function xdgConfig(machine: Machine): string {
  const { env, home, platform } = machine;
  // Only Linux heeds the variable.
  return (platform === 'linux' && env['XDG_CONFIG_HOME']) || join(machine, home, '.config');
}

function inApplicationData(machine: Machine, ...parts: readonly string[]): string {
  const { platform, home, env } = machine;
  if (platform === 'win32') {
    return join(machine, env['APPDATA'] || join(machine, home, 'AppData', 'Roaming'), ...parts);
  }
  if (platform === 'darwin') return join(machine, home, 'Library', 'Application Support', ...parts);
  return join(machine, xdgConfig(machine), ...parts);
}
