import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import type { Target } from '#routing/target.ts';
import type { Services } from '../../services.ts';
import type { AgentCall, Sender } from '../../upstream/send.ts';
import { listReplicas } from './list-replicas.ts';

async function askedOf(shared: boolean): Promise<number[]> {
  const asked: number[] = [];
  const page = JSON.stringify({ blobs: [], usage: { bytes: 0, blobs: 0 }, ...(shared && { shared }) });
  const send = ({ slot }: AgentCall, open: Parameters<Sender['send']>[1]) => {
    asked.push(slot ?? -1);
    const sink = open({ abort() {}, resume() {} } as never);
    sink.head(200, {});
    sink.data(Buffer.from(page));
    sink.ended();
  };
  const services = { sender: { send }, limits: { answerBytes: 1000 } } as unknown as Services;
  const target = { ready: [{ slot: 0 }, { slot: 1 }, { slot: 2 }] } as unknown as Target;
  const call = { method: 'GET', path: '/blobs' } as unknown as AgentCall;
  const response = { writeHead: () => response, end: () => response, setHeader: () => response };
  await listReplicas(services, target, call, response as unknown as ServerResponse);
  return asked;
}

test('where all replicas have the same files one is asked for the list, else each', async () => {
  assert.deepEqual(await askedOf(true), [0]);
  assert.deepEqual(await askedOf(false), [0, 1, 2]);
});
