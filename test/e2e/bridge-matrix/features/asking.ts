import assert from 'node:assert/strict';
import { textOf } from '#agent-server/bridge/testing.ts';
import { form, sampling, visit } from '#test/fixtures/mcp-matrix-server/tools.ts';
import { type Called, type MatrixClient, refusal } from '../client.ts';
import { type Feature, isModern, resultOf } from '../feature.ts';

const capabilities = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: { listChanged: true },
};
const sampled = {
  role: 'assistant',
  content: { type: 'text', text: 'Paris' },
  model: 'm',
  stopReason: 'endTurn',
};
const roots = { roots: [{ uri: 'file:///home/ana', name: 'Home' }] };
const accepted = { action: 'accept', content: { name: 'Ana', color: '#00f' } };
const elicitation = 'elicitation/create';

/** What was asked, and what the server got for it. */
function exchangeOf(called: Called): [unknown, unknown] {
  return [questionsOf(called), JSON.parse(textOf(called.answer))];
}

function questionsOf({ asked }: Called): unknown[] {
  return asked.map(({ method, params }) => [method, withoutMeta(params)]);
}

function withoutMeta({ _meta, ...params }: Record<string, unknown>): Record<string, unknown> {
  return params;
}

async function askEach(client: MatrixClient, tool: string, method: string, answers: readonly object[]) {
  const seen = [];
  for (const answer of answers) {
    seen.push(exchangeOf(await client.call(tool, {}, { answers: { [method]: answer } })));
  }
  return seen;
}

const formElicitation: Feature = {
  name: 'elicitation, form',
  what: 'the whole form, accepted, declined and cancelled; two rounds in one call',
  async exercise({ connect }) {
    const client = await connect({ capabilities });
    const answers = [accepted, { action: 'decline' }, { action: 'cancel' }];
    assert.deepEqual(
      await askEach(client, 'form', elicitation, answers),
      answers.map((answer) => [[[elicitation, form]], answer]),
    );
    const both = { action: 'accept', content: { name: 'Ana', color: 'blue' } };
    const { answer, asked } = await client.call('twice', {}, { answers: { [elicitation]: both } });
    assert.equal(textOf(answer), 'Ana likes blue');
    assert.equal(asked.length, 2);
    return 'passed';
  },
};

const elsewhere: Feature = {
  name: 'questions of prompts and resources',
  what: 'a form in prompts/get and in resources/read',
  async exercise({ connect }) {
    const client = await connect({ capabilities });
    const answers = { [elicitation]: accepted };
    const asks = [[elicitation, form]];
    const prompt = await client.request('prompts/get', { name: 'asking' }, { answers });
    const content = { type: 'text', text: JSON.stringify(accepted) };
    assert.deepEqual(questionsOf(prompt), asks);
    assert.deepEqual(resultOf(prompt.answer)['messages'], [{ role: 'user', content }]);
    const uri = 'matrix://asking';
    const resource = await client.request('resources/read', { uri }, { answers });
    assert.deepEqual(questionsOf(resource), asks);
    assert.deepEqual(resultOf(resource.answer)['contents'], [{ uri, text: content.text }]);
    return 'passed';
  },
};

const inParallel: Feature = {
  name: 'calls at once, each with a question',
  what: 'the answers of one client to three calls reach those that asked',
  async exercise({ connect }) {
    const client = await connect({ capabilities });
    const said = ['Ana', 'Bea', 'Cem'].map((name) => ({ action: 'accept', content: { name } }));
    const calls = said.map((answer) => client.call('form', {}, { answers: { [elicitation]: answer } }));
    const got = (await Promise.all(calls)).map(({ answer }) => JSON.parse(textOf(answer)));
    assert.deepEqual(got, said);
    return 'passed';
  },
};

const urlElicitation: Feature = {
  name: 'elicitation, URL',
  what: 'the address to visit, with the id that 2025 has and 2026 has not',
  async exercise({ way, connect }) {
    const client = await connect({ capabilities });
    const { answer, asked } = await client.call(
      'visit',
      {},
      { answers: { [elicitation]: { action: 'accept' } } },
    );
    assert.equal(textOf(answer), 'visited: accept');
    checkVisit(asked[0]?.params, way.client);
    return 'passed';
  },
};

function checkVisit(params: Record<string, unknown> | undefined, revision: string): void {
  const { elicitationId: _, ...wanted } = visit;
  const { elicitationId, ...found } = withoutMeta(params ?? {});
  assert.deepEqual(found, wanted);
  assert.equal(typeof elicitationId, isModern(revision) ? 'undefined' : 'string');
}

const urlFirst: Feature = {
  name: 'URL to visit first (-32042)',
  what: 'the error of 2025 by which a tool wants a URL visited; in 2026, the same as a question',
  async exercise({ way, connect }) {
    if (isModern(way.server)) return 'none: A9';
    const client = await connect({ capabilities });
    const key = Math.random();
    const { answer, asked } = await client.call(
      'visit-first',
      { key },
      { answers: { [elicitation]: { action: 'accept' } } },
    );
    if (isModern(way.client)) {
      checkVisit(asked[0]?.params, way.client);
      assert.equal(textOf(answer), 'welcome');
      return 'passed';
    }
    assert.deepEqual([answer.error?.code, answer.error?.data], [-32_042, { elicitations: [visit] }]);
    assert.equal(textOf((await client.call('visit-first', { key })).answer), 'welcome');
    return 'passed';
  },
};

const samplingFeature: Feature = {
  name: 'sampling',
  what: 'the whole request, with tools that the model may use, and its result',
  async exercise({ connect }) {
    const client = await connect({ capabilities });
    const method = 'sampling/createMessage';
    assert.deepEqual(await askEach(client, 'sample', method, [sampled]), [[[[method, sampling]], sampled]]);
    return 'passed';
  },
};

const rootsFeature: Feature = {
  name: 'roots',
  what: 'the server asks for them during a call',
  async exercise({ connect }) {
    const client = await connect({ capabilities });
    assert.deepEqual(await askEach(client, 'where', 'roots/list', [roots]), [[[['roots/list', {}]], roots]]);
    return 'passed';
  },
};

const several: Feature = {
  name: 'questions at once',
  what: 'sampling and roots in one call, neither waiting for the other',
  async exercise({ connect }) {
    const client = await connect({ capabilities });
    const answers = { 'sampling/createMessage': sampled, 'roots/list': roots };
    const { answer, asked } = await client.call('both', {}, { answers });
    assert.equal(textOf(answer), `Paris in ${JSON.stringify(roots.roots)}`);
    assert.deepEqual(asked.map(({ method }) => method).sort(), Object.keys(answers).sort());
    return 'passed';
  },
};

const declined: Feature = {
  name: 'a question answered with an error',
  what: 'the server gets the client’s error; 2026 knows answers alone',
  async exercise({ way, connect }) {
    // A client of 2026 has no way to answer with one.
    if (isModern(way.client)) return 'none: A7';
    const client = await connect({ capabilities });
    const { answer } = await client.call('refusable');
    if (answer.error === undefined) {
      assert.equal(textOf(answer), `refused: ${refusal.code} ${refusal.message}`);
      return 'passed';
    }
    assert.deepEqual([answer.error.code, answer.error.data], [-32_603, refusal]);
    return 'refused: A7';
  },
};

const withdrawn: Feature = {
  name: 'a question that is withdrawn',
  what: 'the client hears that its answer is not wanted any more, or is asked no more; the call goes on',
  async exercise({ way, connect }) {
    if (isModern(way.server)) return 'none: A13';
    const client = await connect({ capabilities });
    const { answer, told } = await client.call('withdraw', {}, { silent: true });
    assert.equal(textOf(answer), 'withdrawn');
    if (!isModern(way.client)) {
      assert.deepEqual(
        told.map(({ method }) => method),
        ['notifications/cancelled'],
      );
    }
    return 'passed';
  },
};

const rootsChanged: Feature = {
  name: 'roots/list_changed',
  what: 'the client’s notification reaches the server',
  async exercise({ way, connect }) {
    if (isModern(way.client)) return 'none: A14';
    const client = await connect({ capabilities });
    const method = 'notifications/roots/list_changed';
    await client.notify(method);
    const heard = JSON.parse(textOf((await client.call('heard')).answer)) as string[];
    return heard.includes(method) ? 'passed' : 'refused: A14';
  },
};

const complete: Feature = {
  name: 'elicitation/complete',
  what: 'the server’s notification that a URL was visited reaches the client',
  async exercise({ way, connect }) {
    if (isModern(way.server)) return 'none: A10';
    const { told, answer } = await (await connect({ capabilities })).call('completes');
    assert.equal(textOf(answer), 'told');
    const method = 'notifications/elicitation/complete';
    return told.some((message) => message.method === method) ? 'passed' : 'refused: A10';
  },
};

export const askingFeatures: readonly Feature[] = [
  ...[formElicitation, urlElicitation, urlFirst, samplingFeature, rootsFeature],
  ...[several, inParallel, elsewhere],
  ...[declined, withdrawn, complete, rootsChanged],
];
