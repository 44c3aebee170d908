import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPlace, missingPlace, type Place } from '#test/fixtures/place/place.ts';

interface Variable {
  readonly documentId: string;
  readonly varName: string;
  readonly value?: unknown;
  readonly error?: string;
}

describe('The soplang example', { skip: missingPlace, timeout: 600_000 }, () => {
  let place: Place;
  before(async () => {
    place = await createPlace({ examples: ['soplang/soplang'] });
    await place.up();
  });
  after(() => place?.remove());

  /** The first part of an answer: what plugins print is the second. */
  const call = async (tool: string, ...params: string[]) => {
    const given = params.flatMap((param) => ['-p', param]);
    const output = await place.must('call', 'soplang', tool, ...given, '-o', 'json');
    return JSON.parse(JSON.parse(output).content[0].text);
  };
  const variables = async (): Promise<Variable[]> => call('get_variables_with_values');

  it('knows its commands and types, each asked of a process of its own', async () => {
    assert.deepEqual(await call('get_commands'), [':=', 'add', 'count-words', 'greet', 'join', 'multiply']);
    assert.deepEqual(Object.keys(await call('get_types')), ['number', 'text']);
    assert.deepEqual(await variables(), []);
  });

  it('builds its documents in a task, and later processes find what that one saved', async () => {
    await place.must('call', 'soplang', 'execute_workspace_build');
    for (let round = 0; round < 100 && (await variables()).length === 0; round++) await sleep(200);
    const values = Object.fromEntries((await variables()).map(({ varName, ...rest }) => [varName, rest]));
    assert.deepEqual(values['total'], { documentId: 'budget', value: 120 });
    assert.deepEqual(values['broken'], { documentId: 'budget', error: '$nothing has no value' });
    const one = await call('get_variable_with_value', 'documentId=budget', 'varName=welcome');
    assert.equal(one.value, 'Hello, Ana!');
    await place.must('call', 'soplang', 'sync_markdown_documents');
  });

  it('runs skills that allow lets through, and says no to others', async () => {
    const skill = await call('execute_skill', 'skillName=count-words', 'promptText=one two three');
    assert.deepEqual(skill, { skillName: 'count-words', result: 3 });
    const refused = await place.ploinky('call', 'soplang', 'execute_skill', '-p', 'skillName=nothing');
    assert.equal(refused.code, 7, refused.stdout + refused.stderr);
    assert.match(refused.stdout + refused.stderr, /may not call executeSkill/);
  });
});
