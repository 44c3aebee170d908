import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { refusedPath, type WrongObject, wrongObjects } from '#api/testing/wrong-objects.ts';
import { createPlace, missingPlace, type Place } from '#test/fixtures/place/place.ts';

/** One wrong object for each group of fields: the member of spec in which the mistake lies. */
const groups = new Map<string, WrongObject>();
for (const wrong of wrongObjects.filter(({ onlyParsing }) => !onlyParsing)) {
  const group = `${wrong.kind} ${refusedPath(wrong).split(/[.[]/).slice(0, 2).join('.')}`;
  if (!groups.has(group)) groups.set(group, wrong);
}

describe('A wrong spec is refused with the name of its field', {
  skip: missingPlace,
  timeout: 900_000,
}, () => {
  let place: Place;
  before(async () => {
    place = await createPlace({ examples: [] });
    await place.up();
  });
  after(() => place?.remove());

  async function fileWith({ kind, spec }: WrongObject): Promise<string> {
    const path = join(place.folder, 'wrong.json');
    const object = { apiVersion: 'ploinky.dev/v1alpha1', kind, metadata: { name: 'wrong' }, spec };
    await writeFile(path, JSON.stringify(object));
    return path;
  }

  for (const [group, wrong] of groups) {
    it(`${group}: by ploinky apply`, async () => {
      const { code, stderr } = await place.ploinky('apply', '-f', await fileWith(wrong));
      assert.equal(code, 5, stderr);
      assert.ok(stderr.includes(refusedPath(wrong)), `${refusedPath(wrong)} is not named in: ${stderr}`);
    });

    it(`${group}: by kubectl apply`, async (t) => {
      if (place.kubectl === undefined) return t.skip('kubectl is not installed');
      const { code, stderr } = await place.kubectl('apply', '--server-side', '-f', await fileWith(wrong));
      assert.notEqual(code, 0);
      // Of an item that is there twice an API server names the list.
      const named = stderr.includes('duplicate entries')
        ? refusedPath(wrong).replace(/\[\d+\]$/, '')
        : refusedPath(wrong);
      assert.ok(stderr.includes(named), `${named} is not named in: ${stderr}`);
    });
  }

  it('and nothing of it is stored', async () => {
    for (const kind of ['agents', 'routes', 'tasks']) {
      assert.equal(await place.must('get', kind, '-o', 'name'), '');
    }
  });
});
