import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { addConformanceAgent } from '#test/conformance/targets.ts';
import { createLaptopPlace } from '#test/fixtures/place/laptop.ts';
import type { Place } from '#test/fixtures/place/place.ts';
import { peers } from './conformance-clients.ts';
import type { Peer, PeerSession, ToolResult } from './peer.ts';

// Clients by others, in each era that they speak, of servers that speak one era alone: whoever meets a server of the
// other era goes over the bridge.

const eras = [
  { era: '2025', speaks: 'sessions alone', asking: 'test_elicitation' },
  { era: '2026', speaks: '2026-07-28 alone', asking: 'test_input_required_result_elicitation' },
] as const;
const servers = eras.flatMap((era) => [
  { ...era, transport: 'HTTP' },
  { ...era, transport: 'stdio' },
]);
type Server = (typeof servers)[number];

const nameOf = ({ era, transport }: Server) => `only-${era}-${transport.toLowerCase()}`;

async function addAgent(folder: string, server: Server): Promise<string> {
  const { era: only, transport } = server;
  const written = await addConformanceAgent(folder, { eras: only, stdio: transport === 'stdio' });
  const agent = JSON.parse(await readFile(written, 'utf8')) as object;
  const file = join(folder, `${nameOf(server)}.json`);
  await writeFile(file, JSON.stringify({ ...agent, metadata: { name: nameOf(server) } }));
  return file;
}

/** The Inspector starts for each request: once for each era is enough. */
const peersOf = ({ transport }: Server) =>
  peers.filter(({ cannot }) => transport === 'HTTP' || cannot === undefined);

describe('Clients by others of servers of one era', { timeout: 300_000 }, () => {
  let place: Place;
  let url = '';
  before(async () => {
    place = await createLaptopPlace({ examples: [] });
    const files = [];
    for (const server of servers) files.push(await addAgent(place.folder, server));
    url = await place.up(...files);
  });
  after(() => place?.remove());

  for (const server of servers) {
    for (const peer of peersOf(server)) {
      const name = peer.cannot === undefined ? peer.name : `${peer.name}, which ${peer.cannot}`;
      describe(`${name}: a server of ${server.speaks} over ${server.transport}`, {
        skip: peer.missing ?? false,
      }, () => {
        checkPeer(peer, server, () => `${url}/mcps/${nameOf(server)}/mcp`);
      });
    }
  }
});

function checkPeer(peer: Peer, server: Server, url: () => string): void {
  let session: PeerSession;
  before(async () => {
    session = await peer.connect(url());
  });
  after(() => session?.close());

  it('lists and calls', async () => {
    const names = await session.list('tools');
    assert.ok(names.includes('test_simple_text') && names.includes(server.asking), names.join(', '));
    assert.deepEqual(await session.call('test_error_handling'), {
      content: [{ type: 'text', text: 'This tool intentionally returns an error for testing' }],
      isError: true,
    });
  });

  it('is asked, and its answer reaches the tool', async () => {
    const args = server.era === '2025' ? { message: 'Who are you?' } : {};
    const call = session.callAsking ?? session.call;
    checkAnswer(await call(server.asking, args), server);
  });

  if (peer.cannot !== undefined) return;
  it('settles on its own revision', () => assert.equal(session.revision, peer.revision));

  it('sees progress', async () => {
    const seen = await session.progress?.('test_tool_with_progress');
    // The last may come in one read with the answer, after which some take none.
    assert.deepEqual(seen?.slice(0, 2), [0, 50]);
  });
}

function checkAnswer({ content, isError }: ToolResult, { era }: Server): void {
  const [{ text }] = content as [{ text: string }];
  assert.equal(isError, false, text);
  assert.match(text, era === '2026' ? /^Hello, Ana!$/ : /action=accept.*"username":"Ana"/);
}
