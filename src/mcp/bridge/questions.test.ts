import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RpcError } from '../jsonrpc.ts';
import { askableCapabilities, canBeAsked, mayAsk } from './capabilities.ts';
import {
  answerOfNobody,
  inputRequired,
  questionsFor,
  readInputResponses,
  retryParams,
  urlQuestions,
  withoutRetryMembers,
} from './questions.ts';

// The examples of the specification: "Multi Round-Trip Requests" (2026-07-28) and "Elicitation" (2025-11-25).
const login = {
  mode: 'form',
  message: 'Please provide your GitHub username',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
};
const capital = {
  messages: [{ role: 'user', content: { type: 'text', text: 'What is the capital of France?' } }],
  modelPreferences: { hints: [{ name: 'claude-3-sonnet' }], intelligencePriority: 0.8, speedPriority: 0.5 },
  systemPrompt: 'You are a helpful assistant.',
  maxTokens: 100,
};
const asking = {
  resultType: 'input_required',
  inputRequests: {
    github_login: { method: 'elicitation/create', params: login },
    capital_of_france: { method: 'sampling/createMessage', params: capital },
  },
  requestState: 'AEAD-protected blob',
};
const responses = {
  github_login: { action: 'accept', content: { name: 'octocat' } },
  capital_of_france: {
    role: 'assistant',
    content: { type: 'text', text: 'The capital of France is Paris.' },
    model: 'claude-3-sonnet-20240307',
    stopReason: 'endTurn',
  },
};
const apiKey = {
  mode: 'url',
  elicitationId: '550e8400-e29b-41d4-a716-446655440000',
  url: 'https://mcp.example.com/ui/set_api_key',
  message: 'Please provide your API key to continue.',
};
const all = { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } };
const noId = () => assert.fail('no id is needed');

test('input requests become requests for a client with sessions, unchanged', () => {
  assert.deepEqual(
    [...questionsFor(asking, all, noId)],
    [
      ['github_login', { method: 'elicitation/create', params: login }],
      ['capital_of_france', { method: 'sampling/createMessage', params: capital }],
    ],
  );
});

test('its answers go up with the call as it was, and with the state', () => {
  const params = { name: 'get_weather', arguments: { location: 'New York' }, _meta: { a: 1 } };
  assert.deepEqual(retryParams(params, responses, asking.requestState), {
    ...params,
    inputResponses: responses,
    requestState: 'AEAD-protected blob',
  });
  const second = retryParams({ ...params, inputResponses: responses, requestState: 'old' }, {}, undefined);
  assert.deepEqual(second, { ...params, inputResponses: {} }, 'nothing of the round before is left');
  assert.deepEqual(withoutRetryMembers({ ...params, inputResponses: {}, requestState: 'x' }), params);
  assert.equal(withoutRetryMembers(params), params);
});

test('requests of a server with sessions become input requests, and are the same when they come back', () => {
  const questions = questionsFor(asking, all, noId);
  assert.deepEqual(inputRequired(questions, asking.requestState), asking);
  const roots = new Map([['r', { method: 'roots/list', params: {} }]]);
  assert.deepEqual(inputRequired(roots, undefined), {
    resultType: 'input_required',
    inputRequests: { r: { method: 'roots/list' } },
  });
});

test('an elicitation of a URL has an id in 2025 and none in 2026 (A8)', () => {
  const { elicitationId, ...without } = apiKey;
  const questions = new Map([['u', { method: 'elicitation/create', params: apiKey }]]);
  const result = inputRequired(questions, undefined);
  assert.deepEqual(result['inputRequests'], { u: { method: 'elicitation/create', params: without } });
  assert.deepEqual(questionsFor(result, all, () => elicitationId).get('u')?.params, apiKey);
});

test('what belongs to one hop does not travel with a question', () => {
  const _meta = { progressToken: 1, 'io.modelcontextprotocol/related-task': { taskId: 't' }, 'a/b': 1 };
  const questions = new Map([
    ['q', { method: 'sampling/createMessage', params: { ...capital, task: { ttl: 1 }, _meta } }],
  ]);
  assert.deepEqual(inputRequired(questions, 's')['inputRequests'], {
    q: { method: 'sampling/createMessage', params: { ...capital, _meta: { 'a/b': 1 } } },
  });
});

test('what the client did not declare, or what is no question, cannot be asked (A12)', () => {
  const ask = (request: unknown, capabilities: object) => () =>
    questionsFor({ inputRequests: { q: request } }, { ...capabilities }, noId);
  assert.throws(ask({ method: 'sampling/createMessage', params: capital }, { roots: {} }), RpcError);
  assert.throws(ask({ method: 'elicitation/create', params: apiKey }, { elicitation: {} }), RpcError);
  assert.throws(ask({ method: 'tools/call', params: {} }, all), RpcError);
  assert.throws(ask('roots/list', all), RpcError);
  assert.throws(ask({ method: 'roots/list', params: [] }, all), RpcError);
  assert.throws(() => questionsFor({ inputRequests: [] }, all, noId), RpcError);
});

test('a capability says what may be asked', () => {
  const cases: [object, string, object, boolean][] = [
    [{ elicitation: {} }, 'elicitation/create', {}, true],
    [{ elicitation: {} }, 'elicitation/create', { mode: 'form' }, true],
    [{ elicitation: {} }, 'elicitation/create', { mode: 'url' }, false],
    [{ elicitation: { url: {} } }, 'elicitation/create', { mode: 'url' }, true],
    [{ elicitation: { url: {} } }, 'elicitation/create', {}, false],
    [{ sampling: {} }, 'sampling/createMessage', {}, true],
    [{ roots: {} }, 'roots/list', {}, true],
    [{}, 'roots/list', {}, false],
    [all, 'tools/list', {}, false],
  ];
  for (const [capabilities, method, params, expected] of cases) {
    assert.equal(
      mayAsk({ ...capabilities }, method, { ...params }),
      expected,
      `${method} ${JSON.stringify(params)}`,
    );
  }
  assert.deepEqual(askableCapabilities({ ...all, experimental: {} }), { ...all, roots: {} });
  assert.equal(canBeAsked({ experimental: {} }), false);
  assert.equal(canBeAsked({ roots: {} }), true);
});

test('answers of a retry must be objects', () => {
  assert.deepEqual(readInputResponses({ inputResponses: responses }), responses);
  assert.deepEqual(readInputResponses({}), {});
  for (const inputResponses of [[], 'x', null, { a: 1 }, { a: null }]) {
    assert.throws(() => readInputResponses({ inputResponses }), { code: -32602 });
  }
});

test('the error -32042 becomes questions (A9)', () => {
  const { elicitationId: _id, ...without } = apiKey;
  const error = new RpcError(-32042, 'This request requires more information.', { elicitations: [apiKey] });
  const questions = urlQuestions(error) ?? assert.fail('no questions');
  assert.deepEqual(inputRequired(questions, undefined), {
    resultType: 'input_required',
    inputRequests: { 'url-1': { method: 'elicitation/create', params: without } },
  });
  for (const data of [undefined, {}, { elicitations: [] }, { elicitations: 'x' }]) {
    assert.equal(urlQuestions(new RpcError(-32042, 'x', data)), undefined);
  }
});

test('nobody answers an elicitation with cancel, and other questions with an error (A4)', () => {
  assert.deepEqual(answerOfNobody('elicitation/create'), { action: 'cancel' });
  assert.equal(answerOfNobody('sampling/createMessage'), undefined);
});
