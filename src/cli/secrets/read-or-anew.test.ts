import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readOrAnew } from './read-or-anew.ts';

test('only the file in clear text itself is replaced by what is imported, and only when nothing of it is lost', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'import-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [path, other, alias] = ['.secrets', '.env', 'link'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const plain = Object.assign(new Error('not encrypted'), { code: 'SecretsPlain' });
  const home = { path, read: () => Promise.reject(plain) };
  for (const file of [path, other]) writeFileSync(file, 'A=1\n');
  symlinkSync(path, alias);
  const take = (file: string, text: string, refused: readonly string[] = []) =>
    readOrAnew(home, { file, text, refused });

  const lines = '# old\nA=1\nexport B=$A\nC=two words\n\nD=\r\n';
  for (const file of [path, alias]) assert.equal((await take(file, lines)).anew, lines);
  await assert.rejects(take(other, 'A=1\n'), plain);
  await assert.rejects(take('/dev/null', ''), plain);
  await assert.rejects(take(path, 'A=1\n', ['PLOINKY_MASTER_KEY']), /PLOINKY_MASTER_KEY/);
  for (const line of ['B=ab#cd', 'B="quoted"', "B='x'", 'B= x', 'B=x ', 'A-B=1', 'no pair'])
    await assert.rejects(take(path, `A=1\n${line}\n`), { message: /line 2/ }, line);
  const read = async () => ({ secrets: { A: '1' }, changed: {} });
  assert.equal((await readOrAnew({ read }, { file: other, text: 'B="1"', refused: [] })).anew, undefined);
});
