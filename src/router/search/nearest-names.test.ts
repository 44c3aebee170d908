import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearestNames } from './nearest-names.ts';

const names = ['read_file', 'write_file', 'listIssues', 'send_email'];

const wanted: Record<string, readonly string[]> = {
  readFile: ['read_file', 'write_file'],
  list_issue: ['listIssues'],
  sendmail: ['send_email'],
  zzz: [],
  '': [],
};

for (const [name, near] of Object.entries(wanted)) {
  test(`near ${JSON.stringify(name)} is ${near.join(', ') || 'nothing'}`, () => {
    assert.deepEqual(nearestNames(name, names, 2), near);
  });
}
