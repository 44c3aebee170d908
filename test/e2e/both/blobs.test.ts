import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createPlace, missingPlace, type Place } from '#test/fixtures/place/place.ts';

// Files in and out of an agent on a laptop and on a cluster, by the command line and by tools.

const script = `import { readFileSync, writeFileSync, writeSync } from 'node:fs';
const { input } = JSON.parse(readFileSync(0, 'utf8'));
const at = (path) => process.env.WORKSPACE_PATH + '/' + path;
if (input.file) console.log('bytes ' + readFileSync(at(input.file)).length);
if (input.big) console.log('x'.repeat(Number(input.big)));
if (input.say) { writeFileSync(at('said.txt'), input.say); writeSync(3, JSON.stringify({ blob: { path: 'said.txt', type: 'text/plain' } }) + '\\n'); }
`;
const agent = {
  apiVersion: 'ploinky.dev/v1alpha1',
  kind: 'Agent',
  metadata: { name: 'files' },
  spec: {
    code: { inline: { 'files.mjs': script } },
    mcp: {
      tools: [
        {
          name: 'files',
          command: 'node files.mjs',
          inputSchema: { type: 'object', additionalProperties: true },
        },
      ],
    },
    storage: { blobs: { maxBlobBytes: '8Mi' } },
  },
};
const task = {
  apiVersion: 'ploinky.dev/v1alpha1',
  kind: 'Task',
  metadata: { name: 'large' },
  spec: { agentRef: { name: 'files' }, tool: 'files', input: { big: 100000 } },
};

describe('Files of an agent', { skip: missingPlace, timeout: 600_000 }, () => {
  let place: Place;
  before(async () => {
    place = await createPlace({ examples: [] });
    await place.up(await file('agent.json', JSON.stringify(agent)));
  });
  after(() => place?.remove());

  async function file(name: string, content: string | Buffer): Promise<string> {
    const path = join(place.folder, name);
    await writeFile(path, content);
    return path;
  }

  it('go in, are read by a tool, come back as they went, are listed and deleted', async () => {
    const content = randomBytes(3_000_000);
    const id = (
      await place.must('blob', 'put', 'files', await file('data.bin', content), '--name', 'Ä.bin')
    ).trim();
    assert.match(id, /^[0-9a-f]{48}$/);
    assert.match(await place.must('call', 'files', 'files', '-p', `file=blobs/${id}`), /bytes 3000000/);
    const back = join(place.folder, 'back.bin');
    await place.must('blob', 'get', 'files', id, '-f', back);
    assert.ok((await readFile(back)).equals(content));
    const { blobs } = JSON.parse(await place.must('blob', 'list', 'files', '-o', 'json')) as {
      blobs: { id: string; filename: string }[];
    };
    assert.deepEqual(
      blobs.filter((blob) => blob.id === id).map(({ filename }) => filename),
      ['Ä.bin'],
    );
    await place.must('blob', 'rm', 'files', id);
    assert.equal((await place.ploinky('blob', 'get', 'files', id)).code, 4);
  });

  it('of a tool are links, and what they lead to can be had', async () => {
    const said = await place.must('call', 'files', 'files', '-p', 'say=hello', '-o', 'json');
    const uri = /ploinky:\/\/files\/blobs\/[0-9a-f]{48}/.exec(said)?.[0] ?? said;
    assert.equal(await place.must('blob', 'get', 'files', uri), 'hello');
  });

  it('are refused when they are larger than the Agent says', async () => {
    const refused = await place.ploinky(
      'blob',
      'put',
      'files',
      await file('large.bin', Buffer.alloc(9_000_000)),
    );
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /413|maxBlobBytes/);
  });

  it('keep the result of a Task that its status has no room for', async () => {
    await place.must('apply', '-f', await file('task.json', JSON.stringify(task)));
    await place.must('task', 'wait', 'large', '--timeout', '90');
    const { status } = JSON.parse(await place.must('get', 'task', 'large', '-o', 'json')) as {
      status: { result: { blob?: string; content?: string } };
    };
    assert.equal(status.result.content, undefined);
    const result = JSON.parse(await place.must('blob', 'get', 'files', status.result.blob ?? '')) as {
      content: { text: string }[];
    };
    assert.equal(result.content[0]?.text.trim().length, 100_000);
  });
});
