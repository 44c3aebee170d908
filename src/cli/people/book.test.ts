import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentNamed } from '#routing/testing.ts';
import { findBook, requireUsed } from './book.ts';

test('users for an agent that asks for no password are refused, and by the Secret’s own name they are not', async () => {
  const agent = agentNamed('reports');
  const bookOf = (mode: 'none' | 'pwd' | 'guest' | 'sso') => {
    const found = { ...agent, spec: { ...agent.spec, auth: { ...agent.spec.auth, mode } } };
    const client = { get: () => Promise.resolve(found) } as unknown as Parameters<typeof findBook>[0];
    return findBook(client, 'default', { agent: 'reports' });
  };
  assert.match((await bookOf('none')).unused ?? '', /Agent reports has auth.mode none/);
  assert.match((await bookOf('guest')).unused ?? '', /guest/);
  assert.deepEqual(await bookOf('pwd'), { namespace: 'default', secret: 'reports-users' }, 'the control');
  for (const mode of ['none', 'guest', 'sso'] as const) {
    const book = await bookOf(mode);
    assert.throws(
      () => requireUsed(book),
      (error: Error & { remedy?: string }) =>
        error.message.includes(`auth.mode ${mode}`) &&
        error.remedy?.includes('--secret reports-users') === true,
    );
  }
  requireUsed(await bookOf('pwd'));
  requireUsed({ namespace: 'default', secret: 'reports-users' });
});
