import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stem, wordsOf } from './words.ts';

const texts: Record<string, readonly string[]> = {
  listOpenIssues: ['list', 'open', 'issu'],
  get_pod_logs: ['get', 'pod', 'log'],
  'image-qr-code': ['imag', 'qr', 'cod'],
  parseHTTPResponse: ['pars', 'http', 'respons'],
  'PDFs and URLs': ['pdf', 'url'],
  base64: ['bas', '64'],
  'Größe der Café-Tische': ['große', 'der', 'caf', 'tisch'],
  "What's the team's plan? Don't ask!": ['team', 'plan', 'ask'],
  '': [],
};

for (const [text, words] of Object.entries(texts)) {
  test(`the words of ${JSON.stringify(text)} are ${words.join(', ') || 'none'}`, () => {
    const plain = words.map((word) => word.normalize('NFKD').replace(/\p{M}/gu, ''));
    assert.deepEqual(wordsOf(text), plain);
  });
}

const forms: readonly (readonly string[])[] = [
  ['create', 'creates', 'created', 'creating'],
  ['reply', 'replies', 'replied', 'replying'],
  ['stop', 'stops', 'stopped', 'stopping'],
  ['search', 'searches', 'searched', 'searching'],
  ['file', 'files'],
  ['branch', 'branches'],
];

for (const words of forms) {
  test(`${words.join(', ')} have one stem`, () => {
    assert.equal(new Set(words.map(stem)).size, 1, words.map(stem).join(', '));
  });
}

test('words that only look like forms stay apart', () => {
  for (const word of ['status', 'process', 'string', 'need', 'ring', 'analysis'])
    assert.equal(stem(word), word);
});

test('a word without end costs no more than its length', () => {
  const started = performance.now();
  wordsOf('a'.repeat(1_000_000));
  assert.ok(performance.now() - started < 1_000);
});
