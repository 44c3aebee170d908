import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CannotEdit } from './cannot-edit.ts';
import { editToml, renderToml } from './edit-toml.ts';

const url = 'http://127.0.0.1:8080/mcp';
const edit = { holder: 'mcp_servers', name: 'ploinky', entry: { url } };
const table = `[mcp_servers.ploinky]\nurl = "${url}"\n`;

const cases: [string, string, string][] = [
  ['an empty file holds the table alone', '', table],
  ['a file gets the table at its end', 'model = "x" # keep\n', `model = "x" # keep\n\n${table}`],
  [
    'a table of this name is replaced, with the person’s own members and the comments of the next table',
    '[mcp_servers.ploinky]\ncommand = "old"\nargs = [\n  "a",\n]\nenabled = true\n\n# about y\n[mcp_servers.y]\nurl = "z"\n',
    `${table}enabled = true\n\n# about y\n[mcp_servers.y]\nurl = "z"\n`,
  ],
  [
    'a table below it goes with it',
    '[mcp_servers."ploinky"]\ncommand = "old"\n[mcp_servers.ploinky.env]\nA = "b"\n[other]\nwhen = 2026-01-31T10:00:00Z\n',
    `${table.trimEnd()}\n[other]\nwhen = 2026-01-31T10:00:00Z\n`,
  ],
];
for (const [name, before, after] of cases) {
  test(name, () => {
    assert.equal(editToml(before, edit), after);
    assert.equal(editToml(after, edit), after, 'a second time nothing changes');
  });
}

const refused: [string, string, RegExp][] = [
  ['broken TOML', 'a = \n', /^it is not TOML/],
  ['servers in one line', 'mcp_servers = { y = { url = "z" } }\n', /cannot be added to/],
  ['a server in one line', '[mcp_servers]\nploinky = { url = "z" }\n', /not a table of its own/],
  ['servers that are no table', 'mcp_servers = 1\n', /is no table/],
];
for (const [name, text, message] of refused) {
  test(`${name} is left alone`, () => {
    assert.throws(
      () => editToml(text, edit),
      (error) => error instanceof CannotEdit && message.test(error.message),
    );
  });
}

test('a program with its environment is one table', () => {
  const entry = { command: '/a b/ploinky', args: ['mcp', '--agent', 'x"y'], env: { TMPDIR: '/t' } };
  assert.equal(
    renderToml('mcp_servers', 'ploinky', entry),
    '[mcp_servers.ploinky]\ncommand = "/a b/ploinky"\nargs = [ "mcp", "--agent", "x\\"y" ]\nenv = { TMPDIR = "/t" }\n',
  );
});
