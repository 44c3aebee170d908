import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shapeWords } from './shapes.ts';

const texts: Record<string, readonly string[]> = {
  'write to anna@example.org': ['email'],
  'what does README.md say': ['file'],
  'open https://example.com/a.html': ['url'],
  'who owns example.com': ['domain', 'url'],
  'tell #general': ['channel'],
  'close APP-12': ['issue'],
  'every .log in there': ['file'],
  'nothing of note. Really 3.5 of it': [],
};

for (const [text, words] of Object.entries(texts)) {
  test(`${JSON.stringify(text)} names ${words.join(', ') || 'nothing'} by its shape`, () => {
    assert.deepEqual(shapeWords(text), words);
  });
}
