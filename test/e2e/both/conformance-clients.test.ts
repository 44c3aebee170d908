import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { addConformanceAgent } from '#test/conformance/targets.ts';
import { redPixel } from '#test/fixtures/conformance-server/samples.ts';
import { createPlace, missingPlace, type Place } from '#test/fixtures/place/place.ts';
import { peers } from '../conformance-clients.ts';
import type { Peer, PeerSession } from '../peer.ts';

// What three clients by others see of an agent with an MCP server of its own and of one with command tools, in
// each era that they speak: whole results, by themselves and among all agents.

const endpoints = ['/mcp', '/mcps/conformance/mcp'];

const lists = {
  tools: ['test_simple_text', 'test_elicitation', 'test_input_required_result_elicitation'],
  resources: ['test://static-text', 'test://static-binary'],
  prompts: ['test_simple_prompt', 'test_prompt_with_arguments'],
} as const;

describe('Clients by others', { skip: missingPlace, timeout: 600_000 }, () => {
  let place: Place;
  let url = '';
  before(async () => {
    place = await createPlace({ examples: ['hello'] });
    url = await place.up(await addConformanceAgent(place.folder));
  });
  after(() => place?.remove());

  for (const peer of peers) {
    for (const endpoint of endpoints) {
      it(`${peer.name} sees whole results at ${endpoint}`, async (t) => {
        if (peer.missing !== undefined) return t.skip(peer.missing);
        const session = await peer.connect(`${url}${endpoint}`);
        try {
          if (session.revision !== undefined) assert.equal(session.revision, peer.revision);
          await checkLists(session);
          await checkResults(session);
          await checkQuestions(session, peer);
        } finally {
          await session.close();
        }
      });
    }

    it(`${peer.name} sees a tool, a resource and a prompt made of commands at /mcp`, async (t) => {
      if (peer.missing !== undefined) return t.skip(peer.missing);
      const session = await peer.connect(`${url}/mcp`);
      try {
        // Both agents have a tool of this name.
        for (const [name, text] of [
          ['hello_greet', 'Hello, Ana!'],
          ['conformance_greet', 'Hello, Ana!'],
        ] as const) {
          const { content, isError } = await session.call(name, { name: 'Ana' });
          assert.deepEqual([content, isError], [[{ type: 'text', text }], false]);
        }
        const [motd] = (await session.read('hello://motd')) as [{ uri: string; text: string }];
        assert.equal(motd.uri, 'hello://motd');
        assert.ok(motd.text.length > 0);
        const [message] = (await session.prompt('introduce', { name: 'Ana' })) as [
          { content: { text: string } },
        ];
        assert.match(message.content.text, /^Greet Ana with the greet tool/);
      } finally {
        await session.close();
      }
    });
  }
});

async function checkLists(session: PeerSession): Promise<void> {
  for (const kind of ['tools', 'resources', 'prompts'] as const) {
    const names = await session.list(kind);
    for (const name of lists[kind])
      assert.ok(names.includes(name), `${name} is not among ${names.join(', ')}`);
  }
}

async function checkResults(session: PeerSession): Promise<void> {
  assert.deepEqual(await session.call('test_image_content'), {
    content: [{ type: 'image', data: redPixel, mimeType: 'image/png' }],
    isError: false,
  });
  assert.deepEqual(await session.call('test_error_handling'), {
    content: [{ type: 'text', text: 'This tool intentionally returns an error for testing' }],
    isError: true,
  });
  assert.deepEqual(await session.read('test://template/7/data'), [
    {
      uri: 'test://template/7/data',
      mimeType: 'application/json',
      text: '{"id":"7","templateTest":true,"data":"Data for ID: 7"}',
    },
  ]);
  assert.deepEqual(await session.prompt('test_prompt_with_arguments', { arg1: 'x', arg2: 'y' }), [
    { role: 'user', content: { type: 'text', text: "Prompt with arguments: arg1='x', arg2='y'" } },
  ]);
  if (session.progress !== undefined) {
    assert.deepEqual(await session.progress('test_tool_with_progress'), [0, 50, 100]);
  }
}

/** Each era asks in its own way: a request on the call's stream, or a result to be called with again. */
async function checkQuestions(session: PeerSession, { revision }: Peer): Promise<void> {
  // The Inspector's one-shot command line has nobody to ask.
  if (session.revision === undefined) return;
  const stateless = revision >= '2026-07-28';
  const { content, isError } = stateless
    ? await session.call('test_input_required_result_elicitation')
    : await session.call('test_elicitation', { message: 'Who are you?' });
  const [{ text }] = content as [{ text: string }];
  assert.equal(isError, false, text);
  assert.match(text, stateless ? /^Hello, Ana!$/ : /action=accept.*"username":"Ana"/);
}
