import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metaKeys } from './eras.ts';
import { classifyInbound } from './inbound.ts';
import { errorCodes, RpcError } from './jsonrpc.ts';
import { readMessages } from './parse.ts';

const version = '2026-07-28';
const envelope = { [metaKeys.protocolVersion]: version, [metaKeys.clientCapabilities]: {} };
const call = (meta: unknown, name = 't') => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, ...(meta !== undefined && { _meta: meta }) },
});
const headers = { version, method: 'tools/call', name: 't' };

const failure = (body: unknown, given: object) => {
  try {
    classifyInbound(readMessages(body), { ...headers, ...given });
  } catch (error) {
    assert.ok(error instanceof RpcError);
    return error;
  }
  return undefined;
};

test('a request with an envelope is stateless and its context is read', () => {
  const meta = {
    ...envelope,
    [metaKeys.logLevel]: 'debug',
    [metaKeys.clientInfo]: { name: 'c', version: '1' },
  };
  const inbound = classifyInbound(readMessages(call(meta)), headers);
  assert.equal(inbound.era, 'stateless');
  assert.deepEqual(inbound.context, {
    revision: version,
    capabilities: {},
    client: { name: 'c', version: '1' },
    logLevel: 'debug',
  });
});

test('a request without envelope and without a stateless header belongs to the sessions era', () => {
  const none = { version: undefined, method: undefined, name: undefined };
  assert.equal(classifyInbound(readMessages(call(undefined)), none).era, 'sessions');
  assert.equal(
    classifyInbound(readMessages(call({ progressToken: 1 })), { ...none, version: '2025-11-25' }).era,
    'sessions',
  );
  assert.equal(classifyInbound(readMessages([call(undefined)]), none).era, 'sessions');
});

const refused: Record<string, [unknown, object, number]> = {
  'a stateless header without _meta': [call(undefined), {}, errorCodes.invalidParams],
  'a _meta without the revision': [call({ [metaKeys.clientCapabilities]: {} }), {}, errorCodes.invalidParams],
  'a _meta without capabilities': [
    call({ [metaKeys.protocolVersion]: version }),
    {},
    errorCodes.invalidParams,
  ],
  'a missing version header': [call(envelope), { version: undefined }, errorCodes.headerMismatch],
  'a version header of another era': [call(envelope), { version: '2025-11-25' }, errorCodes.headerMismatch],
  'a missing Mcp-Method': [call(envelope), { method: undefined }, errorCodes.headerMismatch],
  'another Mcp-Method': [call(envelope), { method: 'tools/list' }, errorCodes.headerMismatch],
  'a missing Mcp-Name': [call(envelope), { name: undefined }, errorCodes.headerMismatch],
  'another Mcp-Name': [call(envelope), { name: 'u' }, errorCodes.headerMismatch],
  'a broken base64 Mcp-Name': [call(envelope), { name: '=?base64?*?=' }, errorCodes.headerMismatch],
  'a batch': [[call(envelope)], {}, errorCodes.invalidRequest],
  'a response': [{ jsonrpc: '2.0', id: 1, result: {} }, {}, errorCodes.invalidRequest],
};
for (const [name, [body, given, code]] of Object.entries(refused)) {
  test(`${name} is refused with ${code}`, () => assert.equal(failure(body, given)?.code, code));
}

test('an unknown stateless revision is refused with the ones that are supported', () => {
  const meta = { ...envelope, [metaKeys.protocolVersion]: '2099-01-01' };
  const error = failure(call(meta), { version: '2099-01-01' });
  assert.equal(error?.code, errorCodes.unsupportedVersion);
  assert.deepEqual(error?.data, { supported: [version], requested: '2099-01-01' });
});

test('a header mismatch is told before an unknown revision', () => {
  const meta = { ...envelope, [metaKeys.protocolVersion]: '2099-01-01' };
  assert.equal(failure(call(meta), {})?.code, errorCodes.headerMismatch);
});
