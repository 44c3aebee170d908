import assert from 'node:assert/strict';
import type { Answer, Client } from './client.ts';
import type { Server } from './servers.ts';

/** What a case works with: a server that is up, and a namespace of its own. */
export interface Bench {
  readonly server: Server;
  readonly client: Client;
  /** Makes a namespace that no other test uses. */
  namespace(): Promise<string>;
}

/** One test: a sentence that holds on every server. */
export interface Case {
  readonly name: string;
  run(bench: Bench): Promise<void>;
}

let counter = 0;

export function createBench(server: Server): Bench {
  const { client } = server;
  return {
    server,
    client,
    async namespace() {
      counter += 1;
      const name = `contract-${process.pid}-${counter}`;
      const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
      expectStatus(await client.send('POST', '/api/v1/namespaces', { body }), 201);
      return name;
    },
  };
}

export function expectStatus(answer: Answer, status: number): Answer {
  assert.equal(answer.status, status, `${answer.status}: ${answer.text.slice(0, 1000)}`);
  return answer;
}

/** Checks a failure: its code, its reason, and the start or the pattern of its message. */
export function expectFailure(
  answer: Answer,
  status: number,
  reason: string,
  message?: string | RegExp,
): Answer {
  expectStatus(answer, status);
  assert.equal(answer.body.kind, 'Status');
  assert.equal(answer.body.status, 'Failure');
  assert.equal(answer.body.code, status);
  assert.equal(answer.body.reason, reason);
  if (typeof message === 'string') assert.equal(answer.body.message, message);
  else if (message !== undefined) assert.match(answer.body.message, message);
  return answer;
}

export const widgets = (namespace: string, name = '', query = '') =>
  `/apis/contract.ploinky.dev/v1/namespaces/${namespace}/widgets${name === '' ? '' : `/${name}`}${query}`;
export const core = (namespace: string, plural: string, name = '', query = '') =>
  `/api/v1/namespaces/${namespace}/${plural}${name === '' ? '' : `/${name}`}${query}`;

export const mergeType = 'application/merge-patch+json';
export const applyType = 'application/apply-patch+yaml';
export const strategicType = 'application/strategic-merge-patch+json';
export const jsonPatchType = 'application/json-patch+json';

/** Resolves when `probe` gives something. */
export async function eventually<T>(probe: () => Promise<T | undefined>, milliseconds = 45_000): Promise<T> {
  const deadline = performance.now() + milliseconds;
  for (;;) {
    const found = await probe();
    if (found !== undefined) return found;
    if (performance.now() > deadline) throw new Error('it did not come to pass in time');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
