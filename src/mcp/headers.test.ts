import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkParamHeaders, decodeHeaderValue, encodeHeaderValue, hasValidParamHeaders } from './headers.ts';
import { RpcError } from './jsonrpc.ts';

test('every string survives the header encoding, as printable ASCII', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const encoded = encodeHeaderValue(text);
      assert.match(encoded, /^[\x20-\x7e]*$/);
      assert.equal(encoded, encoded.trim());
      assert.equal(decodeHeaderValue(encoded), text);
    }),
  );
});

test('invalid base64 and invalid UTF-8 decode to undefined', () => {
  assert.equal(decodeHeaderValue('=?base64?a?='), undefined);
  assert.equal(decodeHeaderValue('=?base64?/w==?='), undefined);
});

const schema = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    nested: { type: 'object', properties: { size: { type: 'integer', 'x-mcp-header': 'Size' } } },
  },
};
const check = (args: unknown, headers: Record<string, string>) => () =>
  checkParamHeaders(schema, args, headers);

test('Mcp-Param headers must equal the arguments they mirror', () => {
  check({ region: 'eu', nested: { size: 42 } }, { 'mcp-param-region': 'eu', 'mcp-param-size': '42.0' })();
  check({ region: 'ü' }, { 'mcp-param-region': '=?base64?w7w=?=' })();
  check({ region: null }, {})();
  assert.throws(check({ region: 'eu' }, {}), RpcError);
  assert.throws(check({ region: 'eu' }, { 'mcp-param-region': 'us' }), /Mcp-Param-Region/);
  assert.throws(check({ region: 'eu' }, { 'mcp-param-region': '=?base64?!?=' }), /invalid/);
});

const declared = (header: unknown, type: unknown = 'string') => ({
  type: 'object',
  properties: { a: { type, 'x-mcp-header': header } },
});
const invalid: Record<string, unknown> = {
  'an empty name': declared(''),
  'a space in the name': declared('My Region'),
  'a colon in the name': declared('A:B'),
  'a name that is no ASCII': declared('Région'),
  'a name that is no text': declared(7),
  'a number that may have a fraction': declared('A', 'number'),
  'an object': declared('A', 'object'),
  'nothing said of the type': { properties: { a: { 'x-mcp-header': 'A' } } },
  'one name twice, in whatever case': {
    properties: { a: { type: 'string', 'x-mcp-header': 'A' }, b: { type: 'string', 'x-mcp-header': 'a' } },
  },
  'a list’s items': { properties: { a: { type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } } } },
  'an alternative': { anyOf: [declared('A')] },
};
for (const [what, inputSchema] of Object.entries(invalid)) {
  test(`a tool is not callable for its x-mcp-header: ${what}`, () => {
    assert.equal(hasValidParamHeaders(inputSchema), false);
  });
}

test('a tool is callable with x-mcp-headers that are as they should be, with none, and with an argument of that name', () => {
  for (const inputSchema of [
    schema,
    declared('A', 'boolean'),
    {},
    undefined,
    { properties: { 'x-mcp-header': { type: 'string' } } },
  ])
    assert.equal(hasValidParamHeaders(inputSchema), true, JSON.stringify(inputSchema));
});
