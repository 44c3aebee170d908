import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { parse } from 'yaml';
import { customResourceDefinitions } from '#api/crd.ts';
import { acceptedReasons, agentReasons, routeReasons, taskReasons } from '#api/reasons.ts';
import { anchor } from './markdown.ts';
import { generatedFiles, generatedFolders } from './outputs.ts';

const root = join(import.meta.dirname, '../..');
const files = generatedFiles();

it('what lies in the generated folders is what the sources generate', () => {
  for (const [path, content] of files) {
    assert.ok(readFileSync(join(root, path), 'utf8') === content, `${path} is stale: run npm run generate`);
  }
  const lying = generatedFolders.flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => `${folder}/${name}`),
  );
  const inFolders = [...files.keys()].filter((path) =>
    generatedFolders.some((folder) => dirname(path) === folder),
  );
  assert.deepEqual(lying.sort(), inFolders.sort());
});

it('generates the same bytes every time', () => {
  assert.deepEqual([...generatedFiles()], [...files]);
});

it('the CRD files say what the code says, whichever YAML reads them', () => {
  for (const crd of customResourceDefinitions()) {
    const text = files.get(`crds/${crd.spec.names.plural}.yaml`) ?? '';
    assert.deepEqual(parse(text, { version: '1.1' }), JSON.parse(JSON.stringify(crd)));
    assert.deepEqual(parse(text, { version: '1.2' }), JSON.parse(JSON.stringify(crd)));
  }
});

it('a CRD fits into the annotation that client-side kubectl apply keeps', () => {
  for (const crd of customResourceDefinitions()) {
    assert.ok(JSON.stringify(crd).length < 262_144, crd.metadata.name);
  }
});

it('every link inside a reference page leads to a heading of that page', () => {
  for (const [path, content] of files) {
    if (!path.endsWith('.md')) continue;
    const headings = new Set([...content.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchor(heading)));
    const links = [...content.matchAll(/\]\(#([^)]+)\)/g)].map(([, target = '']) => target);
    assert.deepEqual(
      links.filter((target) => !headings.has(target)),
      [],
      path,
    );
  }
});

it('every reason says in sentences what it means and what to do', () => {
  const page = files.get('docs/reference/conditions.md') ?? '';
  for (const [reason, text] of Object.entries({
    ...acceptedReasons,
    ...agentReasons,
    ...routeReasons,
    ...taskReasons,
  })) {
    assert.match(reason, /^[A-Z][A-Za-z]+$/);
    assert.match(text, /^\S.*\. \S.*\.$/, reason);
    assert.ok(page.includes(`| \`${reason}\` | ${text} |`), reason);
  }
});
