import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { exitCodeOf } from './errors.ts';
import { parseManifests, readManifests } from './manifests.ts';

const agent = (name: string, spec = '{}') =>
  `apiVersion: ploinky.dev/v1alpha1\nkind: Agent\nmetadata: {name: ${name}}\nspec: ${spec}\n`;
const noStdin = () => Promise.reject(new Error('standard input was read'));

test('documents, lists and empty documents of one text', () => {
  const list = `apiVersion: v1\nkind: List\nitems:\n- ${agent('c').replaceAll('\n', '\n  ')}`;
  const found = parseManifests(`${agent('a')}---\n---\n${agent('b')}---\n${list}`, 'x.yaml');
  assert.deepEqual(
    found.map(({ object }) => object.metadata.name),
    ['a', 'b', 'c'],
  );
  assert.equal(found[1]?.where, 'x.yaml, document 3');
});

const wrong: [string, string, RegExp][] = [
  ['broken YAML', 'a: [', /x\.yaml: .*/],
  ['no object', '- 1', /x\.yaml: not a Kubernetes object/],
  ['unknown kind', 'apiVersion: v1\nkind: Pod\nmetadata: {name: a}', /kind "Pod" is unknown/],
  ['wrong version', agent('a').replace('v1alpha1', 'v2'), /apiVersion "ploinky.dev\/v2"/],
  ['no name', 'apiVersion: v1\nkind: Secret', /metadata\.name is missing/],
  ['unknown field', agent('a', '{comand: [x]}'), /spec\.comand: /],
  ['wrong value', agent('a', '{runtime: {replicas: -1}}'), /spec\.runtime\.replicas: /],
  ['wrong tool', agent('a', '{mcp: {tools: [{name: t}]}}'), /spec\.mcp\.tools\[0\]\.command: /],
];
for (const [name, text, message] of wrong) {
  test(`${name} is refused before anything is sent, with where and which field`, () => {
    assert.throws(
      () => parseManifests(text, 'x.yaml'),
      (error: Error) => {
        assert.match(error.message, message);
        assert.equal(exitCodeOf(error), 5);
        return true;
      },
    );
  });
}

test('a folder gives the YAML files in it and one folder below, in order, but no hidden ones', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'manifests-'));
  try {
    for (const name of ['b', 'a', 'a/deeper', '.hidden', 'node_modules']) await mkdir(join(folder, name));
    await writeFile(join(folder, 'z.yaml'), agent('z'));
    await writeFile(join(folder, 'b/agent.yml'), agent('b'));
    await writeFile(join(folder, 'a/agent.yaml'), agent('a'));
    await writeFile(join(folder, 'a/note.txt'), 'not yaml');
    await writeFile(join(folder, 'a/deeper/agent.yaml'), 'not: an object');
    await writeFile(join(folder, '.hidden/agent.yaml'), 'not: an object');
    await writeFile(join(folder, 'node_modules/agent.yaml'), 'not: an object');
    const found = await readManifests(folder, noStdin);
    assert.deepEqual(
      found.map(({ object }) => object.metadata.name),
      ['a', 'b', 'z'],
    );
    await assert.rejects(readManifests(join(folder, 'none'), noStdin), (error) => exitCodeOf(error) === 4);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a dash reads standard input', async () => {
  const found = await readManifests('-', async () => agent('s'));
  assert.equal(found[0]?.where, 'standard input');
});

test('a file without any object is told, and not passed over', async () => {
  await assert.rejects(
    readManifests('-', async () => '# nothing\n---\n'),
    /there is no object in standard input/,
  );
});
