import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import fc from 'fast-check';
import { forInstance, parseAgentConfig } from '../config/agent-config.ts';
import { configCandidates } from '../config/locate.ts';
import { readMcpDefinition } from '../config/mcp-config.ts';
import { safePath } from '../http/static-files.ts';
import { parseArguments } from '../process/arguments.ts';
import { readLines } from '../spawner/lines.ts';
import { temporaryFolder, testConfig } from '../testing/harness.ts';
import { resolveExecutable } from './executable.ts';
import { createFrameDecoder, encodeFrame } from './spawner-protocol.ts';
import { compileUriTemplate } from './uri-template.ts';

test('frames survive any cutting', () => {
  const frame = fc.record(
    { type: fc.nat(255), id: fc.nat(), payload: fc.uint8Array({ maxLength: 40 }) },
    { noNullPrototype: true },
  );
  fc.assert(
    fc.property(fc.array(frame), fc.array(fc.nat(20)), (frames, cuts) => {
      const bytes = Buffer.concat(frames.map(({ type, id, payload }) => encodeFrame(type, id, payload)));
      const decoder = createFrameDecoder();
      const pieces: Buffer[] = [];
      let at = 0;
      for (const cut of cuts) {
        pieces.push(bytes.subarray(at, at + cut));
        at = Math.min(at + cut, bytes.length);
      }
      pieces.push(bytes.subarray(at));
      const decoded = pieces.flatMap((piece) => decoder.push(piece));
      assert.deepEqual(
        decoded.map(({ type, id, payload }) => ({ type, id, payload: [...payload] })),
        frames.map(({ type, id, payload }) => ({ type, id, payload: [...payload] })),
      );
    }),
  );
});

test('a frame that claims to be huge is refused', () => {
  const frame = encodeFrame(1, 1);
  frame.writeUInt32LE(0xffffffff, 0);
  assert.throws(() => createFrameDecoder().push(frame), /larger than/);
});

test('lines arrive whole, the last one without its end too, and long ones are dropped', async () => {
  const lines: string[] = [];
  const source = Readable.from([
    Buffer.from('a\nb'),
    Buffer.from('c\n'),
    Buffer.from('x'.repeat(11)),
    Buffer.from('x\n\nlast'),
  ]);
  readLines(source, 10, (line) => lines.push(line.toString()));
  await new Promise((resolve) => source.once('end', () => setImmediate(resolve)));
  assert.deepEqual(lines, ['a', 'bc', 'last']);
});

test('a command is a file, a shell line, a list or a name on the PATH', async (t) => {
  const code = await temporaryFolder(t);
  await writeFile(join(code, 'own.sh'), '');
  await writeFile(join(code, 'my tool'), '');
  await chmod(join(code, 'own.sh'), 0o755);
  await chmod(join(code, 'my tool'), 0o755);
  const resolve = (command: string | string[], args: string[] = []) => {
    const { file, args: all } = resolveExecutable(command, args, code, '/usr/bin:/bin');
    return [file.replace(code, '/code'), ...all];
  };
  assert.deepEqual(resolve('own.sh', ['1']), ['/code/own.sh', '1']);
  assert.deepEqual(resolve('./own.sh'), ['/code/own.sh']);
  assert.deepEqual(resolve('my tool'), ['/code/my tool']);
  assert.deepEqual(resolve('nope.sh'), ['/code/nope.sh']);
  assert.deepEqual(resolve('sub/nope'), ['/code/sub/nope']);
  assert.deepEqual(resolve('/bin/sh'), ['/bin/sh']);
  assert.match(resolve('env')[0] ?? '', /^\/(usr\/)?bin\/env$/);
  assert.deepEqual(resolve('own.sh -v', ['a b']), ['/bin/sh', '-c', 'own.sh -v "$@"', 'sh', 'a b']);
  assert.deepEqual(resolve('echo $1', ['a']), ['/bin/sh', '-c', 'echo $1', 'sh', 'a']);
  assert.deepEqual(resolve(['own.sh', 'a b'], ['c']), ['/code/own.sh', 'a b', 'c']);
});

const templates: Record<string, [string, string, Record<string, string> | undefined]> = {
  'one variable at the end': ['a://{x}', 'a://b', { x: 'b' }],
  'one in the middle': ['a://{x}/z', 'a://b/z', { x: 'b' }],
  two: ['a://{x}/{y}', 'a://b/c', { x: 'b', y: 'c' }],
  decoded: ['a://{x}', 'a://b%2Fc', { x: 'b/c' }],
  'no slash in a plain variable': ['a://{x}', 'a://b/c', undefined],
  'slashes in a reserved one': ['a://{+x}', 'a://b/c', { x: 'b/c' }],
  'nothing is no value': ['a://{x}/z', 'a:///z', undefined],
  'another ending': ['a://{x}/z', 'a://b/y', undefined],
  'broken percent encoding': ['a://{x}', 'a://%zz', undefined],
};
for (const [name, [template, uri, expected]] of Object.entries(templates)) {
  test(`URI template: ${name}`, () => assert.deepEqual(compileUriTemplate(template).match(uri), expected));
}

test('matching a URI template takes linear time', () => {
  const template = compileUriTemplate('a://{a}{b}{c}{d}{e}{f}!');
  const started = performance.now();
  for (let count = 0; count < 100; count++) template.match(`a://${'x'.repeat(8000)}`);
  assert.ok(performance.now() - started < 1000);
});

test('no path that is served leaves the folder or names something hidden', () => {
  const part = fc.constantFrom(
    '..',
    '.',
    '%2e',
    '%2f',
    '/',
    '\\',
    '%5c',
    'a',
    '.git',
    'x.html',
    '%00',
    'node_modules',
    '%25',
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      const path = safePath(parts.join(''));
      if (path === undefined) return;
      assert.ok(!path.startsWith('/') && !/[\\%\0]|\/\//.test(path));
      assert.ok(
        path.split('/').every((name) => !name.startsWith('.') && name !== 'node_modules' && name !== ''),
      );
    }),
    { numRuns: 2000 },
  );
});

test('wrong entries of a configuration are named by list, position, name and field', () => {
  const definition = readMcpDefinition({
    tools: [
      { name: 'ok', command: 'x' },
      { name: 'bad', command: 'x', timeoutMs: 'soon' },
      { command: 'x' },
      { name: 'ok', command: 'y' },
    ],
    resources: [{ name: 'nowhere', command: 'x' }],
  });
  assert.deepEqual(
    definition.tools.map((tool) => tool.name),
    ['ok'],
  );
  const problems = definition.problems.join('\n');
  assert.match(problems, /^tools\[1\] \(bad\)\.timeoutMs: .*number/m);
  assert.match(problems, /^tools\[2\]\.name: /m);
  assert.match(problems, /^tools: ok appears twice/m);
  assert.match(problems, /^resource nowhere: needs uri or template/m);
  assert.throws(() => readMcpDefinition({ tools: {} }), /tools: .*array/);
});

test('the configuration is looked for in the order of the contract', () => {
  const env = { PLOINKY_MCP_CONFIG_PATH: '/code/c.json', PLOINKY_AGENT_CONFIG: 'a.json' };
  assert.deepEqual(configCandidates(env, '/code', undefined), [
    '/code/a.json',
    '/code/c.json',
    '/tmp/ploinky/mcp-config.json',
    '/code/mcp-config.json',
  ]);
  assert.deepEqual(configCandidates(env, '/code', 'tools/x.json'), ['/code/tools/x.json']);
});

test('the start-up document is read whole, and what is wrong in it is named', () => {
  const config = testConfig('/code', { forwards: [{ listen: 1, target: 'unix:/x' }] });
  assert.deepEqual(parseAgentConfig(JSON.stringify(config)), config);
  const { forwards: _forwards, limits: _limits, ...required } = config;
  assert.deepEqual(parseAgentConfig(JSON.stringify(required)).limits, {});
  assert.throws(() => parseAgentConfig('{'), /not JSON/);
  assert.throws(
    () => parseAgentConfig(JSON.stringify({ ...config, paths: { code: 5 } })),
    /paths\.code: .*string/,
  );
});

test('an instance may say which replica it is', () => {
  const config = testConfig('/code');
  const agentOf = (instance: string | undefined) => forInstance(config, instance).agent;
  assert.deepEqual([agentOf('pod-1').instance, agentOf('pod-1').slot], ['pod-1', undefined]);
  assert.deepEqual([agentOf('pod-1/3').instance, agentOf('pod-1/3').slot], ['pod-1', 3]);
  assert.equal(agentOf(undefined).instance, 'instance-1');
  assert.throws(() => agentOf('/3'), /agent\.instance is empty/);
});

test('the command line says what is wrong with it', () => {
  assert.deepEqual(parseArguments(['--config-fd', '5', '--listen-fd=6']), {
    mode: 'serve',
    configFd: 5,
    configFile: undefined,
    listen: { type: 'fd', fd: 6 },
    instance: undefined,
    withoutTokens: false,
    inImage: false,
  });
  assert.deepEqual(parseArguments(['exec', '--config-fd', '5', '--', 'npm', '--listen']), {
    mode: 'exec',
    configFd: 5,
    configFile: undefined,
    command: ['npm', '--listen'],
  });
  const inPod = ['--config-file', '/etc/c.json', '--instance', 'uid-1', '--listen', '[::]:80'];
  assert.deepEqual(parseArguments(inPod), {
    mode: 'serve',
    configFd: undefined,
    configFile: '/etc/c.json',
    listen: { type: 'tcp', host: '::', port: 80 },
    instance: 'uid-1',
    withoutTokens: false,
    inImage: false,
  });
  assert.throws(() => parseArguments([]), /--config-fd or --config-file/);
  assert.throws(() => parseArguments(['--config-fd', 'x']), /number of an open file descriptor/);
  assert.throws(() => parseArguments(['--config-fd', '5', '--listen', 'nowhere']), /HOST:PORT/);
  assert.throws(
    () => parseArguments(['--config-fd', '5', '--listen-fd', '6', '--listen-socket', '/x']),
    /only one/,
  );
  assert.throws(() => parseArguments(['--wat']), /unknown argument "--wat"/);
  assert.throws(() => parseArguments(['exec', '--config-fd', '5']), /needs --/);
});
