import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createPlace, missingPlace, type Place } from '#test/fixtures/place/place.ts';

// The life of an agent with a workspace of its own: started anew, suspended, deleted, made again; and the Route and
// the Task beside it.

const keeper = {
  apiVersion: 'ploinky.dev/v1alpha1',
  kind: 'Agent',
  metadata: { name: 'keeper', labels: { team: 'notes' } },
  spec: {
    storage: { size: '16Mi' },
    code: { inline: { 'note.sh': 'echo line >> "$WORKSPACE_PATH/notes"; wc -l < "$WORKSPACE_PATH/notes"' } },
    mcp: {
      tools: [
        {
          name: 'note',
          description: 'Writes a line and tells how many there are.',
          command: 'sh note.sh',
        },
      ],
    },
  },
};
const route = {
  apiVersion: 'ploinky.dev/v1alpha1',
  kind: 'Route',
  metadata: { name: 'notes' },
  spec: { selector: { matchLabels: { team: 'notes' } }, paths: ['/team'], mcp: {} },
};
const task = {
  apiVersion: 'ploinky.dev/v1alpha1',
  kind: 'Task',
  metadata: { name: 'later' },
  spec: { agentRef: { name: 'keeper' }, tool: 'note', input: {} },
};

describe('The life of an agent', { skip: missingPlace, timeout: 900_000 }, () => {
  let place: Place;
  before(async () => {
    place = await createPlace({ examples: [] });
    await place.up(await file(keeper));
  });
  after(() => place?.remove());

  async function file(object: { readonly metadata: { readonly name: string } }): Promise<string> {
    const path = join(place.folder, `${object.metadata.name}.json`);
    await writeFile(path, JSON.stringify(object));
    return path;
  }
  const note = async () => Number(await place.must('call', 'note', '-a', 'keeper'));
  interface Status {
    readonly conditions?: { type: string; status: string; reason: string }[];
    readonly endpoints?: { uid: string; ready: boolean }[];
  }
  async function statusOf(kind: string, name: string): Promise<Status> {
    const text = await place.must('get', kind, name, '-o', 'json');
    return (JSON.parse(text) as { status?: Status }).status ?? {};
  }
  /** Asks until the status is as wanted. */
  async function waitUntil(kind: string, name: string, isSo: (status: Status) => boolean): Promise<void> {
    let seen: unknown;
    for (let tries = 0; tries < 120; tries += 1) {
      const status = await statusOf(kind, name).catch(() => ({}));
      if (isSo(status)) return;
      seen = status;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    assert.fail(`${kind} ${name} stays as ${JSON.stringify(seen)}`);
  }
  const says = (type: string, reason: string, status?: string) => (seen: Status) =>
    seen.conditions?.some(
      (condition) =>
        condition.type === type &&
        condition.reason === reason &&
        (status ?? condition.status) === condition.status,
    ) === true;
  const waitFor = (kind: string, name: string, type: string, reason: string) =>
    waitUntil(kind, name, says(type, reason));

  it('keeps what it wrote when it is started anew', async () => {
    assert.equal(await note(), 1);
    const [before] = (await statusOf('agent', 'keeper')).endpoints ?? [];
    await place.must('restart', 'keeper');
    await waitUntil('agent', 'keeper', ({ endpoints = [] }) =>
      endpoints.some(({ uid, ready }) => ready && uid !== before?.uid),
    );
    assert.equal(await note(), 2);
  });

  it('keeps it while it is suspended, and nothing of it runs then', async () => {
    await place.must(
      'apply',
      '-f',
      await file({ ...keeper, spec: { ...keeper.spec, runtime: { suspend: true } } } as never),
    );
    // Nothing moves any more: what it ran in is gone, and all that was made for it.
    await waitUntil('agent', 'keeper', says('Progressing', 'Suspended', 'False'));
    const called = await place.ploinky('call', 'note', '-a', 'keeper');
    assert.notEqual(called.code, 0);
    await place.must(
      'apply',
      '-f',
      await file({ ...keeper, spec: { ...keeper.spec, runtime: { suspend: false } } } as never),
    );
    await waitFor('agent', 'keeper', 'Ready', 'Ready');
    assert.equal(await note(), 3);
  });

  it('is served where a Route says, once every router has taken it up', async () => {
    await place.must('apply', '-f', await file(route));
    await waitFor('route', 'notes', 'Programmed', 'Programmed');
    await waitFor('route', 'notes', 'ResolvedRefs', 'ResolvedRefs');
    await place.must('delete', 'route', 'notes');
  });

  it('is told in words when a Task asks for what is not there yet', async () => {
    const asking = { ...task, spec: { ...task.spec, estimatedTokens: 5 } };
    await place.ploinky('apply', '-f', await file(asking));
    await waitFor('task', 'later', 'Accepted', 'NotImplemented');
    await place.must('delete', 'task', 'later');
  });

  it('finds its workspace again when it is deleted and made again', async () => {
    await place.must('delete', 'agent', 'keeper');
    await place.must('apply', '-f', await file(keeper));
    await waitFor('agent', 'keeper', 'Ready', 'Ready');
    assert.equal(await note(), 4);
  });
});
