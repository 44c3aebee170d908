import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CannotEdit } from './cannot-edit.ts';
import { editJson } from './edit-json.ts';

const edit = { holder: 'mcpServers', name: 'ploinky', entry: { url: 'http://127.0.0.1:8080/mcp' } };

const cases: [string, string, string][] = [
  [
    'an empty file becomes an object',
    '',
    '{\n  "mcpServers": {\n    "ploinky": {\n      "url": "http://127.0.0.1:8080/mcp"\n    }\n  }\n}\n',
  ],
  [
    'comments, tabs, commas at the end and the neighbours’ own layout stay',
    '// mine\n{\n\t"theme": "One", // dark\n\t"mcpServers": {\n\t\t"x": {"url": "u"},\n\t},\n}\n',
    '// mine\n{\n\t"theme": "One", // dark\n\t"mcpServers": {\n\t\t"x": {"url": "u"},\n\t\t"ploinky": {\n\t\t\t"url": "http://127.0.0.1:8080/mcp"\n\t\t},\n\t},\n}\n',
  ],
  [
    'a file without servers gets them at its end',
    '{\r\n    "a": [1,2]\r\n}\r\n',
    '{\r\n    "a": [1,2],\r\n    "mcpServers": {\r\n        "ploinky": {\r\n            "url": "http://127.0.0.1:8080/mcp"\r\n        }\r\n    }\r\n}\r\n',
  ],
  [
    'another way to the same server takes the place of the old, and the person’s own members stay',
    '{\n  "mcpServers": {\n    "ploinky": {\n      "command": "x",\n      "args": ["y"],\n      "disabled": true\n    }\n  }\n}\n',
    '{\n  "mcpServers": {\n    "ploinky": {\n      "url": "http://127.0.0.1:8080/mcp",\n      "disabled": true\n    }\n  }\n}\n',
  ],
];
for (const [name, before, after] of cases) {
  test(name, () => {
    assert.equal(editJson(before, edit), after);
    assert.equal(editJson(after, edit), after, 'a second time nothing changes');
  });
}

const refused: [string, string, RegExp][] = [
  ['broken JSON', '{\n  "a": 1\n', /^it is not JSON: CloseBraceExpected at line 3, column 1$/],
  ['a list', '[]', /no JSON object/],
  ['servers that are no object', '{"mcpServers": []}', /its "mcpServers" is no object/],
  ['servers that are there twice', '{"mcpServers": {}, "mcpServers": {"a": {}}}', /the same member twice/],
];
for (const [name, text, message] of refused) {
  test(`${name} is left alone`, () => {
    assert.throws(
      () => editJson(text, edit),
      (error) => error instanceof CannotEdit && message.test(error.message),
    );
  });
}

test('whatever else is in a file means the same afterwards', () => {
  // `__proto__` is a member that no object literal can have.
  const members = fc.dictionary(
    fc.string().filter((key) => key !== '__proto__'),
    fc.jsonValue(),
    { noNullPrototype: true },
  );
  fc.assert(
    fc.property(members, members, fc.constantFrom(undefined, 2, '\t'), (root, servers, indent) => {
      const before = { ...root, mcpServers: servers };
      const after = JSON.parse(editJson(JSON.stringify(before, null, indent), edit)) as typeof before;
      const { ploinky, ...others } = after.mcpServers;
      const { ploinky: _, ...expected } = JSON.parse(JSON.stringify(servers)) as typeof servers;
      assert.deepEqual(others, expected);
      assert.equal((ploinky as { url: string }).url, edit.entry.url);
      assert.deepEqual({ ...after, mcpServers: 0 }, { ...JSON.parse(JSON.stringify(root)), mcpServers: 0 });
    }),
  );
});
