import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Machine } from '../context.ts';
import { type Client, clients } from './clients.ts';
import { editJson } from './edit-json.ts';
import { editToml } from './edit-toml.ts';
import type { Server } from './server.ts';

// What is written for each client, as a whole file, beside the commands that do the same. The golden files are the
// clients' own documented formats: change one only when its client does.

const servers: readonly Server[] = [
  { kind: 'http', url: 'http://127.0.0.1:8080/mcp' },
  {
    kind: 'stdio',
    command: '/opt/ploinky/bin/ploinky',
    args: ['mcp', '--workspace', '/home/ana/my project'],
    env: { XDG_RUNTIME_DIR: '/run/user/1000' },
  },
];

for (const client of clients) {
  for (const server of servers.filter(({ kind }) => kind === 'stdio' || client.http !== undefined)) {
    test(`${client.title} is told of a server by ${server.kind} in its own form`, async () => {
      const file = join(import.meta.dirname, 'golden', `${client.id}.${server.kind}.${client.format}.golden`);
      assert.equal(write(client, server), await readFile(file, 'utf8'));
    });
  }
}

function write(client: Client, server: Server): string {
  const entry = server.kind === 'http' ? client.http?.(server) : client.stdio(server);
  assert.ok(entry !== undefined);
  const edit = { holder: client.holder, name: 'ploinky', entry };
  return client.format === 'json' ? editJson('', edit) : editToml('', edit);
}

const places: [string, Machine, Record<string, string>][] = [
  [
    'on Linux',
    { platform: 'linux', home: '/home/ana', folder: '/project', env: {} },
    {
      'claude-code': '/project/.mcp.json',
      'claude-desktop': '/home/ana/.config/Claude/claude_desktop_config.json',
      vscode: '/project/.vscode/mcp.json /home/ana/.config/Code/User/mcp.json',
      cursor: '/home/ana/.cursor/mcp.json /project/.cursor/mcp.json',
      zed: '/home/ana/.config/zed/settings.json',
      codex: '/home/ana/.codex/config.toml /project/.codex/config.toml',
      'gemini-cli': '/home/ana/.gemini/settings.json /project/.gemini/settings.json',
    },
  ],
  [
    'on Linux, with folders of one’s own',
    {
      platform: 'linux',
      home: '/home/ana',
      folder: '/project',
      env: { XDG_CONFIG_HOME: '/xdg', CODEX_HOME: '/codex' },
    },
    { zed: '/xdg/zed/settings.json', codex: '/codex/config.toml /project/.codex/config.toml' },
  ],
  [
    'on macOS',
    { platform: 'darwin', home: '/Users/ana', folder: '/w', env: { XDG_CONFIG_HOME: '/xdg' } },
    {
      'claude-desktop': '/Users/ana/Library/Application Support/Claude/claude_desktop_config.json',
      vscode: '/w/.vscode/mcp.json /Users/ana/Library/Application Support/Code/User/mcp.json',
      zed: '/Users/ana/.config/zed/settings.json',
    },
  ],
  [
    'on Windows',
    {
      platform: 'win32',
      home: 'C:\\Users\\ana',
      folder: 'C:\\w',
      env: { APPDATA: 'C:\\Users\\ana\\AppData\\Roaming' },
    },
    {
      'claude-desktop': 'C:\\Users\\ana\\AppData\\Roaming\\Claude\\claude_desktop_config.json',
      vscode: 'C:\\w\\.vscode\\mcp.json C:\\Users\\ana\\AppData\\Roaming\\Code\\User\\mcp.json',
      zed: 'C:\\Users\\ana\\AppData\\Roaming\\Zed\\settings.json',
      cursor: 'C:\\Users\\ana\\.cursor\\mcp.json C:\\w\\.cursor\\mcp.json',
    },
  ],
];
for (const [name, machine, expected] of places) {
  test(`clients keep their servers where they say, ${name}`, () => {
    for (const [id, paths] of Object.entries(expected)) {
      const files = clients.find((client) => client.id === id)?.files ?? [];
      assert.equal(files.flatMap(({ path }) => path(machine) ?? []).join(' '), paths, id);
    }
  });
}

const commands: [string, string, string][] = [
  [
    'claude-code',
    'claude mcp add --scope project --transport http ploinky http://127.0.0.1:8080/mcp',
    "claude mcp add --scope project --transport stdio --env XDG_RUNTIME_DIR=/run/user/1000 ploinky -- /opt/ploinky/bin/ploinky mcp --workspace '/home/ana/my project'",
  ],
  [
    'codex',
    'codex mcp add ploinky --url http://127.0.0.1:8080/mcp',
    "codex mcp add ploinky --env XDG_RUNTIME_DIR=/run/user/1000 -- /opt/ploinky/bin/ploinky mcp --workspace '/home/ana/my project'",
  ],
  [
    'gemini-cli',
    'gemini mcp add --scope project --transport http ploinky http://127.0.0.1:8080/mcp',
    "gemini mcp add --scope project --env XDG_RUNTIME_DIR=/run/user/1000 ploinky /opt/ploinky/bin/ploinky -- mcp --workspace '/home/ana/my project'",
  ],
];
for (const [id, ...expected] of commands) {
  test(`the command of ${id} is one that a shell takes`, () => {
    const client = clients.find((each) => each.id === id);
    assert.deepEqual(
      servers.map((server) => client?.command?.('ploinky', server, 'project')),
      expected,
    );
  });
}
