import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { blobId, isBlobId, slotNamedIn, slotOfBlob } from '#wire/blobs.ts';
import { readRange } from './byte-range.ts';
import { attachment, cleanName, nameIn, nameOf } from './disposition.ts';

test('any name comes back out of the header that it is put into, and the header is one line of ASCII', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 100 }), (text) => {
      const name = cleanName(text);
      const header = attachment(name);
      assert.match(header, /^[\x20-\x7e]*$/);
      assert.match(header, /^attachment/);
      assert.equal(nameIn(header), name);
    }),
  );
});

test('names have no folders, and names of nothing are none', () => {
  assert.equal(nameOf('..%2f..%2fetc%2fpasswd'), 'passwd');
  assert.equal(nameOf('C:\\temp\\a.txt'), 'a.txt');
  assert.equal(nameOf('z%C3%A4hne.txt'), 'zähne.txt');
  assert.equal(nameOf('100%.txt'), '100%.txt');
  for (const none of ['', '.', '..', 'a/', '\u0000']) assert.equal(nameOf(none), null, none);
  assert.equal(nameIn('attachment; filename="a\\"b.txt"'), 'a"b.txt');
  assert.equal(nameIn(`inline; filename="x"; filename*=UTF-8''%e2%82%ac.txt`), '€.txt');
});

test('a range lies within the file, whatever is asked', () => {
  const header = fc.oneof(
    fc.string(),
    fc.tuple(fc.option(fc.nat()), fc.option(fc.nat())).map(([from, to]) => `bytes=${from ?? ''}-${to ?? ''}`),
  );
  fc.assert(
    fc.property(header, fc.nat(), (text, size) => {
      const range = readRange(text, size);
      if (range === undefined || range === 'unsatisfiable') return;
      assert.ok(range.start >= 0 && range.start < range.end && range.end <= size);
    }),
  );
});

test('an id says which replica has it, where there are several', () => {
  const random = Buffer.alloc(22, 0xab);
  for (const slot of [undefined, 0, 7, 9999]) {
    const id = blobId(random, slot);
    assert.ok(isBlobId(id));
    assert.equal(slotOfBlob(id), slot);
    assert.equal(slotNamedIn(`{"file":"blobs/${id}"}`, 'demo'), slot);
    assert.equal(slotNamedIn(`{"file":"ploinky://demo/blobs/${id}"}`, 'demo'), slot);
    assert.equal(slotNamedIn(`{"file":"blobs/${id}0"}`, 'demo'), undefined);
    // Another agent's replicas are none of this one's.
    assert.equal(slotNamedIn(`{"file":"ploinky://other/blobs/${id}"}`, 'demo'), undefined);
    const both = `ploinky://other/blobs/${blobId(random, 3)} blobs/${id}`;
    assert.equal(slotNamedIn(both, 'demo'), slot);
  }
  assert.equal(slotNamedIn('blobs/nothing', 'demo'), undefined);
});
