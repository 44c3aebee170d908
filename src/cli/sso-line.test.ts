import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '#kube/errors.ts';
import { agentNamed } from '#routing/testing.ts';
import { readSso, ssoLines } from './sso-line.ts';

const open = agentNamed('open');
const team = { ...open, spec: { ...open.spec, auth: { ...open.spec.auth, mode: 'sso' as const } } };

test('status says that there is single sign-on where an Agent or a Route has it', async () => {
  const listing = (items: readonly object[]) =>
    ({ list: () => Promise.resolve({ items }) }) as unknown as Parameters<typeof readSso>[0];
  assert.equal(await readSso(listing([]), {}, [open, team]), true);
  assert.equal(await readSso(listing([team]), {}, [open]), true, 'of a Route');
  assert.equal(await readSso(listing([open]), {}, [open]), false, 'the control');
  assert.deepEqual([true, false].flatMap(ssoLines), ['- SSO: enabled', '- SSO: disabled']);
});

test('status says nothing of single sign-on where Routes are not the caller’s to see', async () => {
  const forbidden = new ApiError({ status: 403, reason: 'Forbidden', message: 'no' });
  const client = { list: () => Promise.reject(forbidden) } as unknown as Parameters<typeof readSso>[0];
  assert.deepEqual(ssoLines(await readSso(client, {}, [open])), []);
});
