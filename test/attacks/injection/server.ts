import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import {
  openSession,
  type TestServer,
  temporaryFolder,
  testPath,
  testServer,
} from '../../../src/agent-server/testing/harness.ts';
import { commonPrograms } from './payloads.ts';

/** An agent-server with a tool of every kind, and a folder in which nothing may ever appear. */
export interface Victim {
  readonly canaries: string;
  readonly server: TestServer;
  readonly session: string;
  appeared(): string[];
}

/** Puts its argument into a shell's line, as careless tools do: the control. */
const careless = `import { spawnSync } from 'node:child_process';
let text = '';
for await (const chunk of process.stdin) text += chunk;
const given = JSON.parse(text).input.text;
for (const line of ['echo ' + given, 'echo "' + given + '"', "echo '" + given + "'"])
  if (!line.includes('\\0')) spawnSync('/bin/bash', ['-c', line], { stdio: 'ignore' });
console.log('done');
`;

const tool = (name: string, command: string | string[], more: Readonly<Record<string, unknown>> = {}) => ({
  ...{ name, description: name, command, ...more },
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: true },
});

export async function startVictim(
  t: TestContext,
  env: Readonly<Record<string, string>> = {},
): Promise<Victim> {
  const folder = await temporaryFolder(t);
  const canaries = join(folder, 'canaries');
  const bin = join(folder, 'bin');
  const code = join(folder, 'code');
  for (const path of [canaries, bin, code]) mkdirSync(path);
  for (const name of commonPrograms) {
    writeFileSync(join(bin, name), `#!/bin/sh\n: > '${canaries}/${name}'\n`);
    chmodSync(join(bin, name), 0o755);
  }
  writeFileSync(join(code, 'careless.mjs'), careless);
  writeFileSync(join(code, 'read.sh'), '#!/bin/sh\nwhile read -r line; do :; done; printf "%s" "$#"\n');
  chmodSync(join(code, 'read.sh'), 0o755);
  const server = await testServer(t, {
    code,
    env: { AGENT_NAME: 'demo', ...env, PATH: `${bin}:${testPath}` },
    mcp: {
      tools: [
        tool('program', ['/bin/sh', '-c', 'while read -r line; do :; done; printf done']),
        tool('file', './read.sh'),
        tool('line', 'while read -r line; do :; done; printf %s done'),
        tool('line-with-arguments', 'while read -r line; do :; done; printf %s "$1"', { args: ['one'] }),
        tool('careless', [process.execPath, 'careless.mjs']),
      ],
      resources: [
        {
          name: 'item',
          description: 'x',
          template: 'item://{name}',
          command: ['/bin/sh', '-c', 'printf done'],
        },
      ],
      prompts: [
        { name: 'ask', description: 'x', messages: [{ role: 'user', content: 'About $' + '{text}' }] },
      ],
    },
  });
  const session = await openSession(server);
  return { canaries, server, session, appeared: () => readdirSync(canaries) };
}

/** Every way by which a client's text gets into the agent-server. */
export const doors: Readonly<
  Record<string, (text: string) => readonly { method: string; params: object }[]>
> = {
  'a tool’s argument': (text) =>
    ['program', 'file', 'line', 'line-with-arguments'].map((name) => call(name, { text })),
  'the name of an argument': (text) => [call('line', { [text]: 'x' })],
  'the name of a tool': (text) => [call(text, { text })],
  'a resource’s address': (text) => [
    { method: 'resources/read', params: { uri: `item://${encodeURIComponent(text)}` } },
    { method: 'resources/read', params: { uri: `item://${text}` } },
  ],
  'a prompt’s argument': (text) => [{ method: 'prompts/get', params: { name: 'ask', arguments: { text } } }],
};

function call(name: string, args: Readonly<Record<string, string>>) {
  return { method: 'tools/call', params: { name, arguments: args } };
}

/** Sends it; the text that came back of a call that was carried out. */
export async function send(
  { server, session }: Victim,
  message: { method: string; params: object },
): Promise<string | undefined> {
  const request = { jsonrpc: '2.0', id: 1, ...message };
  const { json } = await server.post(request, { 'mcp-session-id': session });
  return json.result?.content?.[0]?.text;
}

export function hasBash(): boolean {
  return spawnSync('/bin/bash', ['-c', 'true']).status === 0;
}
