import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { parseObject } from '#api/validate.ts';
import { refusalsOf } from '#controllers/task/gather.ts';

const folder = join(import.meta.dirname, '../../../examples/tasks');

describe('The examples of Tasks', () => {
  for (const file of readdirSync(folder)) {
    it(`${file} is accepted`, () => {
      for (const document of parseAllDocuments(readFileSync(join(folder, file), 'utf8'))) {
        const parsed = parseObject('Task', document.toJSON());
        assert.ok(parsed.ok, JSON.stringify(parsed));
        assert.deepEqual(refusalsOf(parsed.object), []);
      }
    });
  }
});
