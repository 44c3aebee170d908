import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { addConformanceAgent } from '#test/conformance/targets.ts';
import { createPlace, missingPlace, type Place } from '#test/fixtures/place/place.ts';
import { missingTerminal, startAtTerminal } from '#test/fixtures/terminal/terminal.ts';

// `ploinky call` as a person uses it: asked at a terminal, shown progress, interrupted; and as a script does.

const slow = {
  apiVersion: 'ploinky.dev/v1alpha1',
  kind: 'Agent',
  metadata: { name: 'slow' },
  spec: {
    storage: { size: '16Mi' },
    mcp: {
      tools: [
        {
          name: 'wait',
          description: 'Takes its time.',
          command:
            'trap \'echo ended >> "$WORKSPACE_PATH/log"; exit 1\' TERM; echo begun >> "$WORKSPACE_PATH/log"; sleep 60 & wait',
        },
        { name: 'seen', description: 'Tells what was.', command: 'cat "$WORKSPACE_PATH/log" || true' },
      ],
    },
  },
};
const asking = 'test_input_required_result_elicitation';

describe('ploinky call', { skip: missingPlace, timeout: 600_000 }, () => {
  let place: Place;
  before(async () => {
    place = await createPlace({ examples: ['hello'] });
    const file = join(place.folder, 'slow.json');
    await writeFile(file, JSON.stringify(slow));
    await place.up(await addConformanceAgent(place.folder), file);
  });
  after(() => place?.remove());

  const atTerminal = (...args: string[]) => startAtTerminal(place.start('call', ...args));

  it('asks at a terminal what the tool asks', { skip: missingTerminal }, async () => {
    const person = atTerminal(asking);
    await person.reads('conformance asks: What is your name?');
    await person.reads('name (text, required)');
    await person.reads('name: ');
    person.types('\r');
    await person.reads('It is required.');
    await person.reads('name: ');
    person.types('Ana\r');
    await person.reads('Send this? [Y/n] ');
    person.types('y\r');
    const { code, shown } = await person.ended;
    assert.equal(code, 0, shown);
    assert.match(shown, /\nHello, Ana!\n/);
  });

  it('asks twice when the tool does', { skip: missingTerminal }, async () => {
    const person = atTerminal('test_input_required_result_multi_round');
    for (const answer of ['Ana', 'red']) {
      await person.reads('(text, required)');
      await person.reads(': ');
      person.types(`${answer}\r`);
      await person.reads('Send this?');
      person.types('\r');
    }
    const { code, shown } = await person.ended;
    assert.equal(code, 0, shown);
    assert.match(shown, /Ana likes red\./);
  });

  for (const [name, key] of [
    ['Ctrl-D', '\u0004'],
    ['Ctrl-C', '\u0003'],
  ] as const) {
    it(`tells the tool of ${name}, which then asks again`, { skip: missingTerminal }, async () => {
      const person = atTerminal(asking);
      await person.reads('name: ');
      person.types(key);
      // This tool takes no for no answer.
      await person.reads('conformance asks: What is your name?');
      await person.reads('name: ');
      person.types('Ana\r');
      await person.reads('Send this?');
      person.types('\r');
      assert.equal((await person.ended).code, 0);
    });
  }

  it('says without a terminal that there is nobody to ask', async () => {
    const { code, stdout, stderr } = await place.ploinky('call', asking);
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(stderr, /the tool asks a question, and there is no terminal to ask it in/);
  });

  it('shows progress at a terminal, and nowhere else', { skip: missingTerminal }, async () => {
    const { code, shown } = await atTerminal('test_tool_with_progress').ended;
    assert.equal(code, 0);
    assert.match(shown, /\[#{10}·{10}\] 50 %/);
    const { stdout, stderr } = await place.ploinky('call', 'test_tool_with_progress', '-o', 'json');
    assert.equal(stderr, '');
    const { content } = JSON.parse(stdout) as { content: unknown };
    assert.deepEqual(content, [{ type: 'text', text: 'Tool with progress executed successfully' }]);
  });

  it('shows what the tool logs when it is asked to', async () => {
    const { stdout, stderr } = await place.ploinky('call', 'test_tool_with_logging', '--verbose');
    assert.equal(stdout, 'Tool with logging executed successfully\n');
    assert.match(stderr, /^\[info\] Tool execution started$/m);
    assert.equal((await place.ploinky('call', 'test_tool_with_logging')).stderr, '');
  });

  it('cancels the call at the server by Ctrl-C', { skip: missingTerminal }, async () => {
    const seen = () => place.must('call', 'slow', 'seen');
    const person = atTerminal('slow', 'wait');
    while (!(await seen()).includes('begun')) await new Promise((resolve) => setTimeout(resolve, 200));
    person.types('\u0003');
    assert.equal((await person.ended).code, 130);
    let log = await seen();
    for (let tries = 0; tries < 50 && !log.includes('ended'); tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      log = await seen();
    }
    assert.equal(log.trim(), 'begun\nended');
  });

  it('takes arguments as the tool wants them, from a file and from standard input too', async () => {
    const file = join(place.folder, 'input.json');
    await writeFile(file, '{"name": "Ana"}');
    assert.equal(await place.must('call', 'hello', 'greet', '--input', `@${file}`), 'Hello, Ana!\n');
    assert.equal(
      await place.must('call', 'hello', 'greet', '--input', '{"name":"Ana"}', '-p', 'name=7'),
      'Hello, 7!\n',
    );
    assert.equal(await place.must('call', 'test_custom_headers', '-p', 'region=eu'), '{"region":"eu"}\n');
    for (const [args, words] of [
      [['-p', 'nmae=Ana'], /no parameter "nmae"\n {2}Did you mean name\?/],
      [[], /parameter name is missing\n {2}-p name=… {3}text: Whom to greet\./],
      [['--input', '[]'], /--input must be a JSON object/],
    ] as const) {
      const { code, stderr } = await place.ploinky('call', 'hello', 'greet', ...args);
      assert.equal(code, 2, stderr);
      assert.match(stderr, words);
    }
    const missing = await place.ploinky('call', 'hello', 'greet', '--input', '@none.json');
    assert.equal(missing.code, 4, missing.stderr);
  });

  it('lists tools with their parameters', async () => {
    assert.match(await place.must('tools', 'hello', '-o', 'wide'), /^hello +greet +name\* +Greets/m);
    const tools = JSON.parse(await place.must('tools', 'hello', '-o', 'json')) as { inputSchema: object }[];
    assert.ok(tools.every(({ inputSchema }) => Object.keys(inputSchema).length > 0));
  });
});
