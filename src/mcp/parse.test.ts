import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { errorCodes, RpcError } from './jsonrpc.ts';
import { parseBody, parseJson } from './parse.ts';

const codeOf = (text: string) => {
  try {
    parseBody(text);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof RpcError);
    return error.code;
  }
};

test('a request, a notification and a response are each one message', () => {
  for (const text of [
    '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    '{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}',
    '{"jsonrpc":"2.0","id":"a","result":{}}',
    '{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"x"}}',
  ]) {
    const body = parseBody(text);
    assert.equal(body.batch, false);
    assert.deepEqual(body.messages, [JSON.parse(text)]);
  }
});

const refused: Record<string, [string, number]> = {
  'not JSON': ['{', errorCodes.parse],
  'an empty body': ['', errorCodes.parse],
  'an empty batch': ['[]', errorCodes.invalidRequest],
  'an oversized batch': [
    JSON.stringify(Array(51).fill({ jsonrpc: '2.0', id: 1, method: 'ping' })),
    errorCodes.invalidRequest,
  ],
  'a null id': ['{"jsonrpc":"2.0","id":null,"method":"ping"}', errorCodes.invalidRequest],
  'a fractional id': ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', errorCodes.invalidRequest],
  'positional params': ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', errorCodes.invalidRequest],
  'another version': ['{"jsonrpc":"1.0","id":1,"method":"ping"}', errorCodes.invalidRequest],
  'a string': ['"hello"', errorCodes.invalidRequest],
};
for (const [name, [text, code]] of Object.entries(refused)) {
  test(`${name} is refused with ${code}`, () => assert.equal(codeOf(text), code));
}

test('nesting of a million levels is refused quickly and without overflowing the stack', () => {
  assert.equal(codeOf('['.repeat(1_000_000)), errorCodes.invalidRequest);
  assert.equal(codeOf(`{"a":${'{"a":'.repeat(100_000)}1`), errorCodes.invalidRequest);
});

test('brackets inside strings do not count as nesting', () => {
  const text = JSON.stringify({ a: `${'['.repeat(500)}"\\`, b: '\\\\"[[[[' });
  assert.deepEqual(parseJson(text, { maxDepth: 3, maxMembers: 10 }), JSON.parse(text));
});

test('parseJson gives exactly what JSON.parse gives when the depth is within the limit', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 20 }), (text) => assert.deepEqual(parseJson(text), JSON.parse(text))),
  );
});

test('the members of all objects and lists are counted, and what is in strings is not', () => {
  const limits = { maxDepth: 64, maxMembers: 10 };
  const ten = JSON.stringify({ text: ',,,,,,,,,,,,,,,,"', a: [1, 2, 3, 4], b: { c: 1, d: 2, e: 3 } });
  assert.deepEqual(parseJson(ten, limits), JSON.parse(ten));
  const eleven = JSON.stringify(Array.from({ length: 11 }, () => 'item'));
  assert.throws(() => parseJson(eleven, limits), /more than 10 members and items/);
  assert.equal(codeOf(`{${'"":1,'.repeat(1_000_000)}"a":1}`), errorCodes.invalidRequest);
});

/** What parseJson bounds, counted the long way. */
function membersIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const members: unknown[] = Object.values(value);
  return members.reduce<number>((sum, member) => sum + membersIn(member), members.length);
}

test('the count is exact, with blanks or without', () => {
  const value = fc.oneof(fc.jsonValue({ maxDepth: 8 }), fc.array(fc.jsonValue({ maxDepth: 4 })));
  const indents = fc.constantFrom('', '  ', '\t', '\r\n');
  fc.assert(
    fc.property(value, indents, (json, indent) => {
      const tight = JSON.stringify(json, undefined, indent);
      const text = indent === '' ? tight : tight.replaceAll('[]', '[ ]').replaceAll('{}', '{ }');
      const members = membersIn(JSON.parse(text));
      const limits = { maxDepth: 64, maxMembers: members };
      assert.deepEqual(parseJson(text, limits), JSON.parse(text));
      if (members === 0) return;
      const fewer = { maxDepth: 64, maxMembers: members - 1 };
      assert.throws(() => parseJson(text, fewer), /members and items/);
    }),
  );
});

test('objects and lists with one member each, and no comma between them, are counted', () => {
  const nested = `${'['.repeat(60)}${']'.repeat(60)}`;
  const millions = `{"x":[${Array.from({ length: 20_000 }, () => nested).join(',')}]}`;
  assert.throws(() => parseJson(millions), /more than 100000 members and items/);
  const limits = { maxDepth: 64, maxMembers: 10 };
  assert.throws(() => parseJson(`${'{"a":'.repeat(11)}1${'}'.repeat(11)}`, limits), /more than 10 members/);
  const blank = `[${Array.from({ length: 10 }, () => '[ \n\r\t ]').join(', ')}]`;
  assert.equal((parseJson(blank, limits) as unknown[]).length, 10);
});
