import assert from 'node:assert/strict';
import { type Message, textOf } from '#agent-server/bridge/testing.ts';
import { lists } from '#test/fixtures/mcp-matrix-server/lists.ts';
import { everyContent } from '#test/fixtures/mcp-matrix-server/tools.ts';
import { type Cell, type Feature, isModern, plain, resultOf, text } from '../feature.ts';
import type { Outcome } from '../ways.ts';

/** The items of a list as the server gave them: without what the router says of them, and what other cells added. */
async function listed(cell: Cell, method: string): Promise<Listed[]> {
  const client = await cell.connect();
  const result = plain(await client.ask(method), cell.way.client);
  const [member] = listOf(cell, method);
  return (result[member] as Listed[]).filter(isOwn).map(withoutRouter);
}

interface Listed extends Record<string, unknown> {
  readonly name: string;
  readonly annotations?: Record<string, unknown>;
}

const isOwn = ({ name }: Listed) => !name.startsWith('grown-');

function withoutRouter({ annotations, ...item }: Listed): Listed {
  if (annotations === undefined) return item as Listed;
  const { router, ...rest } = annotations;
  const isEmpty = router !== undefined && Object.keys(rest).length === 0;
  return { ...(item as Listed), ...(!isEmpty && { annotations: rest }) };
}

function listOf({ way }: Cell, method: string): readonly [string, readonly Record<string, unknown>[]] {
  const list = lists(isModern(way.server) ? 2026 : 2025)[method];
  assert.ok(list !== undefined);
  return list;
}

const tools: Feature = {
  name: 'tools',
  what: 'tools/call with nested arguments; a tool’s own error; an unknown tool',
  async exercise({ way, connect }) {
    const client = await connect();
    const args = { text: 'ä\u0000✓', deep: { list: [1, 2.5, null, true] } };
    const { answer } = await client.call('echo', args);
    assert.deepEqual(plain(answer, way.client), { content: text(JSON.stringify(args)) });
    const failed = await client.call('fails');
    assert.deepEqual(plain(failed.answer, way.client), { content: text('no luck'), isError: true });
    const unknown = await client.call('nothing-of-this-name');
    assert.equal(unknown.answer.error?.code, -32_602);
    return 'passed';
  },
};

const pagination: Feature = {
  name: 'lists, pagination',
  what: 'all items of lists that the server gives in pages of two, in its order, with a lifetime for 2026',
  async exercise(cell) {
    const { client: revision } = cell.way;
    const client = await cell.connect();
    for (const method of ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list']) {
      const [member, items] = listOf(cell, method);
      assert.ok(items.length > 2, 'more than a page');
      const found: unknown[] = [];
      let cursor: unknown;
      do {
        const answer = await client.ask(method, cursor === undefined ? {} : { cursor });
        if (isModern(revision)) checkHints(answer);
        const page = plain(answer, revision);
        found.push(...(page[member] as Listed[]).filter(isOwn));
        cursor = page['nextCursor'];
      } while (cursor !== undefined);
      const names = (all: readonly unknown[]) => all.map((item) => (item as { name: string }).name);
      assert.deepEqual(names(found), names(items));
    }
    return 'passed';
  },
};

function checkHints(answer: Message): void {
  const { ttlMs, cacheScope } = resultOf(answer);
  assert.equal(typeof ttlMs, 'number');
  assert.match(String(cacheScope), /^(public|private)$/);
}

const structured: Feature = {
  name: 'structured content',
  what: 'an object, and the output schema that describes it',
  async exercise(cell) {
    const client = await cell.connect();
    const { answer } = await client.call('object');
    const whole = { content: text('{"degrees":21}'), structuredContent: { degrees: 21 } };
    assert.deepEqual(plain(answer, cell.way.client), whole);
    const tool = (await listed(cell, 'tools/list')).find(({ name }) => name === 'object');
    const given = listOf(cell, 'tools/list')[1].find(({ name }) => name === 'object');
    assert.deepEqual(tool, given);
    return 'passed';
  },
};

const structuredArray: Feature = {
  name: 'structured content that is no object',
  what: 'an array, and the output schema that describes it',
  async exercise(cell) {
    const client = await cell.connect();
    const result = plain((await client.call('list')).answer, cell.way.client);
    const tool = (await listed(cell, 'tools/list')).find(({ name }) => name === 'list');
    if (result['structuredContent'] === undefined) {
      assert.deepEqual(result, { content: text('[1,2]') }, 'at least as text');
      assert.equal(tool?.['outputSchema'], undefined, 'no schema of what does not come');
      return 'refused: R3';
    }
    assert.deepEqual(result['structuredContent'], [1, 2]);
    assert.deepEqual(tool?.['outputSchema'], { type: 'array' });
    return 'passed';
  },
};

const kinds: Feature = {
  name: 'content of every kind',
  what: 'text, image, audio, resource link, embedded resource; annotations, icons, titles and `_meta` of applications',
  async exercise(cell) {
    const client = await cell.connect();
    const { answer } = await client.call('contents');
    assert.deepEqual(plain(answer, cell.way.client), { content: everyContent });
    const meta = resultOf(answer)['_meta'] as Record<string, unknown>;
    assert.equal(meta['example.com/whole'], true);
    const tool = (await listed(cell, 'tools/list')).find(({ name }) => name === 'contents');
    assert.deepEqual(
      tool,
      listOf(cell, 'tools/list')[1].find(({ name }) => name === 'contents'),
    );
    return 'passed';
  },
};

const resources: Feature = {
  name: 'resources',
  what: 'the list with every member; text and blob read; one that is not there, by the code of the revision',
  async exercise(cell) {
    const { client: revision } = cell.way;
    const client = await cell.connect();
    assert.deepEqual(await listed(cell, 'resources/list'), listOf(cell, 'resources/list')[1]);
    const read = async (uri: string) => client.ask('resources/read', { uri });
    const first = { uri: 'matrix://a', mimeType: 'text/plain', text: 'first', _meta: { 'example.com/x': 1 } };
    assert.deepEqual(plain(await read('matrix://a'), revision), { contents: [first] });
    const blob = { uri: 'matrix://b', mimeType: 'image/png', blob: 'aGk=' };
    assert.deepEqual(plain(await read('matrix://b'), revision), { contents: [blob] });
    assert.equal((await read('matrix://none')).error?.code, isModern(revision) ? -32_602 : -32_002);
    return 'passed';
  },
};

const templates: Feature = {
  name: 'resource templates',
  what: 'the list, and a resource made from one',
  async exercise(cell) {
    assert.deepEqual(
      await listed(cell, 'resources/templates/list'),
      listOf(cell, 'resources/templates/list')[1],
    );
    const client = await cell.connect();
    const read = plain(await client.ask('resources/read', { uri: 'matrix://item/7' }), cell.way.client);
    const contents = { uri: 'matrix://item/7', mimeType: 'application/json', text: '{"item":"7"}' };
    assert.deepEqual(read, { contents: [contents] });
    return 'passed';
  },
};

const prompts: Feature = {
  name: 'prompts',
  what: 'the list with every member; one with arguments',
  async exercise(cell) {
    assert.deepEqual(await listed(cell, 'prompts/list'), listOf(cell, 'prompts/list')[1]);
    const client = await cell.connect();
    const answer = await client.ask('prompts/get', { name: 'greeting', arguments: { who: 'Ana' } });
    assert.deepEqual(plain(answer, cell.way.client), {
      description: 'How to greet',
      messages: [{ role: 'user', content: { type: 'text', text: 'Greet {"who":"Ana"}' } }],
    });
    return 'passed';
  },
};

const completion: Feature = {
  name: 'completion',
  what: 'of a prompt’s argument, and of a template’s with what is known already',
  async exercise({ way, connect }): Promise<Outcome> {
    const client = await connect();
    const complete = async (params: Record<string, unknown>) =>
      plain(await client.ask('completion/complete', params), way.client)['completion'];
    const ref = { type: 'ref/prompt', name: 'greeting' };
    const argument = { name: 'who', value: 'par' };
    const values = ['paris', 'park', '["ref/prompt",null]'];
    assert.deepEqual(await complete({ ref, argument }), { values, total: 3, hasMore: false });
    const context = { arguments: { kind: 'x' } };
    const template = { type: 'ref/resource', uri: 'matrix://item/{id}' };
    const more = ['quito', `["ref/resource",${JSON.stringify(context)}]`];
    const found = await complete({ ref: template, argument: { name: 'id', value: 'q' }, context });
    assert.deepEqual(found, { values: more, total: 2, hasMore: false });
    return 'passed';
  },
};

const metadata: Feature = {
  name: 'metadata of requests',
  what: '`_meta` of applications and the trace context reach the server, and nothing of the other revision does',
  async exercise({ way, connect }) {
    const client = await connect();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const _meta = { 'example.com/mark': { deep: [1] }, traceparent };
    const { answer } = await client.call('metadata', {}, { params: { _meta } });
    const found = JSON.parse(textOf(answer)) as Record<string, unknown>;
    assert.deepEqual(found['example.com/mark'], _meta['example.com/mark']);
    // Each hop is a span of its own in the trace.
    assert.match(String(found['traceparent']), /^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/);
    const reserved = Object.keys(found).filter((key) => key.startsWith('io.modelcontextprotocol/'));
    assert.equal(reserved.length > 0, isModern(way.server), reserved.join());
    return 'passed';
  },
};

export const contentFeatures: readonly Feature[] = [
  ...[tools, pagination, structured, structuredArray, kinds],
  ...[resources, templates, prompts, completion, metadata],
];
