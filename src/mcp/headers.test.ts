import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkParamHeaders, decodeHeaderValue, encodeHeaderValue } from './headers.ts';
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
