import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Agent, agentSpecSchema } from '#api/agent.ts';
import type { Secret } from '#api/meta.ts';
import type { Client } from '#kube/client.ts';
import { secretHome } from './home.ts';
import { redactorFor } from './known.ts';
import { listSecrets } from './usage.ts';

const agent = (name: string, env: readonly object[]): Agent => ({
  apiVersion: 'ploinky.dev/v1alpha1',
  kind: 'Agent',
  metadata: { name, namespace: 'team' },
  spec: agentSpecSchema.parse({ env }),
});
const alias = (name: string) => ({ name: 'V', valueFrom: { alias: name } });

test('the list says where each name comes from and whom its value reaches, over aliases, and no value', () => {
  const places = [
    { place: 'Secret', secrets: { A: '$B', B: 'value-of-b' }, changed: { B: '2026-01-01T00:00:00Z' } },
    { place: 'file', secrets: { C: 'value-of-c' }, changed: {} },
  ];
  const lines = listSecrets(places, [agent('one', [alias('A')]), agent('two', [alias('NONE')])]);
  assert.deepEqual(
    lines.map(({ name, source, aliasOf, usedBy }) => [name, source, aliasOf, usedBy]),
    [
      ['A', 'Secret', 'B', ['one']],
      ['B', 'Secret', undefined, ['one']],
      ['C', 'file', undefined, []],
      ['NONE', 'environment or .env, or missing', undefined, ['two']],
    ],
  );
  assert.doesNotMatch(JSON.stringify(lines), /value-of/);
});

test('logs of pods are shown without the values that the reader may read, whatever he may not', async () => {
  const data = {
    key: Buffer.from('the-secret-value').toString('base64'),
    other: Buffer.from('another-value').toString('base64'),
  };
  const find = async (_resource: unknown, { name }: { name: string }) => {
    if (name === 'forbidden') throw new Error('forbidden');
    return { data } as unknown as Secret;
  };
  const from = (name: string) => ({ name: `V_${name}`, valueFrom: { secretKeyRef: { name, key: 'key' } } });
  const redactor = await redactorFor(
    { find } as unknown as Client,
    agent('one', [from('readable'), from('forbidden')]),
  );
  assert.equal(redactor.text('the-secret-value another-value'), '[redacted] another-value');
});

test('values that are no text stay as they are when another one is set', async () => {
  const bytes = Buffer.from([0xfe, 0xed, 0xff, 0x00]).toString('base64');
  const before = { metadata: { name: 's' }, data: { keystore: bytes, gone: 'eA==' } } as unknown as Secret;
  const written: Secret[] = [];
  const client = {
    find: async () => before,
    update: async (_: unknown, secret: Secret) => written.push(secret),
  } as unknown as Client;
  await secretHome(client, 'team').change(({ secrets: { gone: _, ...rest }, changed }) => ({
    secrets: { ...rest, A: 'text' },
    changed,
  }));
  assert.deepEqual(written[0]?.data, { keystore: bytes, A: Buffer.from('text').toString('base64') });
});
