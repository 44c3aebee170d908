import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Prompter, Reply } from '../prompter.ts';
import { askInTerminal } from './ask.ts';

/** Somebody who types these lines; ^C and ^D stand for the keys. */
function typing(...lines: string[]): Prompter & { readonly seen: string[] } {
  const seen: string[] = [];
  return {
    seen,
    open: () => ({
      tell: (text) => void seen.push(text),
      ask: async (prompt): Promise<Reply> => {
        seen.push(prompt);
        const line = lines.shift();
        assert.ok(line !== undefined, `nothing was expected to be asked: ${prompt}`);
        if (line === '^C') return { kind: 'cancel' };
        return line === '^D' ? { kind: 'decline' } : { kind: 'line', text: line };
      },
      close: () => undefined,
    }),
  };
}

const form = (properties: object, required: string[] = []) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message: 'Who?', requestedSchema: { type: 'object', properties, required } },
});
const name = { name: { type: 'string' } };
const url = (address: string) => ({
  method: 'elicitation/create',
  params: { mode: 'url', message: 'Sign in', url: address },
});

const cases: [string, object, string[], object][] = [
  [
    'a form is filled in field by field and sent once it is confirmed',
    form({ ...name, age: { type: 'integer', default: 7 } }, ['name']),
    ['', 'Ana', 'x', '', 'y'],
    { action: 'accept', content: { name: 'Ana', age: 7 } },
  ],
  ['what is optional is left out', form(name), ['', ''], { action: 'accept', content: {} }],
  ['a form that is not confirmed is declined', form(name), ['Ana', 'n'], { action: 'decline' }],
  ['Ctrl-D declines', form(name), ['^D'], { action: 'decline' }],
  ['Ctrl-C cancels', form(name), ['Ana', '^C'], { action: 'cancel' }],
  ['a form without fields is a question', form({}), ['yes'], { action: 'accept', content: {} }],
  ['an address is agreed to', url('https://login.example/x?y=1'), ['y'], { action: 'accept' }],
  ['an address is declined by Enter', url('https://login.example/'), [''], { action: 'decline' }],
  ['an address that no browser opens is declined', url('javascript:alert(1)'), [], { action: 'decline' }],
];
for (const [title, request, lines, expected] of cases) {
  test(title, async () => {
    const answers = await askInTerminal(typing(...lines), { q: request }, options());
    assert.deepEqual(answers, { q: expected });
  });
}

function options(signal = new AbortController().signal) {
  return { asker: 'files', signal };
}

test('who asks, the whole address and its host are shown, without control characters', async () => {
  const person = typing('n');
  const request = url('https://evil.example/%1b[2J?to=bank.example');
  request.params.message = 'Sign\u001b[2J in';
  await askInTerminal(person, { q: request }, options());
  const text = person.seen.join('\n');
  assert.match(text, /files asks: Sign�\[2J in/);
  assert.match(text, /https:\/\/evil\.example\/%1b\[2J\?to=bank\.example/);
  assert.match(text, /It leads to evil\.example\./);
  assert.ok(!text.includes('\u001b'));
});

test('several questions are answered by their keys', async () => {
  const person = typing('Ana', 'y', 'y');
  const answers = await askInTerminal(person, { a: form(name), b: url('https://x.example/') }, options());
  assert.deepEqual(answers, { a: { action: 'accept', content: { name: 'Ana' } }, b: { action: 'accept' } });
});

test('a question that was not offered to be answered is an error', async () => {
  const request = { method: 'sampling/createMessage', params: {} };
  await assert.rejects(askInTerminal(typing(), { q: request }, options()), /which this client did not offer/);
});
