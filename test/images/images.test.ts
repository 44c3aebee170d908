import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import { version } from '#main/version.ts';
import { type Image, readArchive } from '../../scripts/images/archive.ts';
import { ensureImages } from '../../scripts/images/ensure.ts';
import { limits, measureImage } from '../../scripts/images/sizes.ts';
import { type Rootfs, unpackImage, unpackWithAgent, unpackWithAgentImage } from './rootfs.ts';

const ensured = await ensureImages(['controller', 'agent', 'python', 'musl'], (line) => console.error(line));
const archives = 'missing' in ensured ? {} : ensured.archives;
const baseLayers = 'missing' in ensured ? {} : ensured.baseLayers;
const skip = 'missing' in ensured ? `no images can be built here: ${ensured.missing}` : false;

const archiveOf = (name: 'controller' | 'agent' | 'python' | 'musl') => archives[name] ?? '';

/** In the image where a C compiler made it. */
const reaper = existsSync(new URL('../../dist/reaper', import.meta.url)) ? ['reaper'] : [];

suite('Images', { skip }, () => {
  for (const name of ['controller', 'agent'] as const) {
    test(`the ${name} image runs as a number, says what it is, and leaves probes to the cluster`, async () => {
      const { config } = await readArchive(archiveOf(name));
      assert.match(config.User ?? '', /^[1-9]\d*:[1-9]\d*$/);
      assert.equal(config.Labels?.['org.opencontainers.image.version'], version);
      assert.equal(config.Labels?.['org.opencontainers.image.licenses'], 'Apache-2.0');
      assert.ok(config.Labels?.['org.opencontainers.image.title']);
      assert.equal(config.Healthcheck, undefined);
    });
  }

  test('the controller image adds little to its base, and no package folder', async () => {
    const base = baseLayers.controller ?? [];
    const { added } = await measureImage('controller', archiveOf('controller'), base);
    assert.ok(added !== undefined && added > 1 && added <= limits.controllerAdded, `${added} MiB`);
    const files = addedFiles(await readArchive(archiveOf('controller')), base);
    assert.deepEqual(
      files.filter((path) => path.includes('node_modules/') || path.endsWith('.ts')),
      [],
    );
    assert.ok(files.includes('app/controller.mjs'));
  });

  test('the agent-server is small, and Node is in the agent image once', async () => {
    const { agentServer } = await measureImage('agent', archiveOf('agent'), baseLayers.agent);
    assert.ok(agentServer !== undefined && agentServer <= limits.agentServer, `${agentServer} MiB`);
    const { layers } = await readArchive(archiveOf('agent'));
    const large = layers.flatMap(({ files }) => files).filter(({ bytes }) => bytes > 50 * 1024 * 1024);
    assert.deepEqual(
      large.map(({ path }) => path),
      ['Agent/bin/node'],
    );
  });

  test('the test image of Python has neither Node nor libstdc++, the one of musl no glibc', async () => {
    const python = addedFiles(await readArchive(archiveOf('python')), []);
    assert.deepEqual(
      python.filter((path) => /libstdc\+\+|\/node$/.test(path)),
      [],
    );
    assert.ok(python.some((path) => path.endsWith('/libc.so.6')));
    const musl = addedFiles(await readArchive(archiveOf('musl')), []);
    assert.deepEqual(
      musl.filter((path) => /libc\.so\.6|ld-linux/.test(path)),
      [],
    );
    assert.ok(musl.some((path) => path.includes('musl')));
  });
});

function addedFiles({ layers }: Image, base: readonly string[]): string[] {
  const own = layers.filter(({ diffId }) => !base.includes(diffId));
  return own.flatMap(({ files }) => files).map(({ path }) => path.replace(/^\.\//, ''));
}

for (const name of ['python', 'musl'] as const) {
  suite(`/Agent in the image of ${name}`, { skip }, () => {
    let rootfs: Rootfs;
    before(async () => {
      rootfs = await unpackWithAgent(archiveOf(name), archiveOf('agent'));
    });
    after(() => rootfs.remove());

    test('Node runs, read-only and as a user without a name', async () => {
      const script = 'console.log(process.versions.node.split(".")[0], process.getuid())';
      assert.equal(await rootfs.run(['/Agent/bin/node', '-e', script]), '24 10001\n');
    });

    test('Node takes every library from /Agent, whatever LD_LIBRARY_PATH says', async () => {
      const script = 'console.log(require("node:fs").readFileSync("/proc/self/maps", "utf8"))';
      const env = { LD_LIBRARY_PATH: '/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:/lib' };
      const maps = await rootfs.run(['/Agent/bin/node', '-e', script], env);
      const mapped = new Set(maps.match(/\/\S+\.so\S*/g));
      assert.ok(mapped.size >= 5, [...mapped].join(' '));
      assert.deepEqual(
        [...mapped].filter((path) => !path.startsWith('/Agent/lib/')),
        [],
      );
    });

    test('the agent-server starts and asks for its configuration', async () => {
      const run = rootfs.run(['/Agent/bin/node', '/Agent/agent-server.mjs']);
      await assert.rejects(run, /give either --config-fd or --config-file/);
    });

    test('the reaper runs', {
      skip: reaper.length === 0 && 'no C compiler: the image has none',
    }, async () => {
      const run = ['/Agent/reaper', 'WORD=hello', '/bin/sh', '-c', 'echo $WORD'];
      assert.equal(await rootfs.run(run), 'hello\n');
    });

    test('programs that Node starts are the image’s own', async () => {
      const script =
        'console.log(require("node:child_process").execSync("echo $0; id -u", {encoding: "utf8"}))';
      assert.match(await rootfs.run(['/Agent/bin/node', '-e', script]), /sh\n10001/);
    });
  });
}

suite('The whole agent image mounted at /Agent, by a runtime that knows no subPath', { skip }, () => {
  let rootfs: Rootfs;
  before(async () => {
    rootfs = await unpackWithAgentImage(archiveOf('musl'), archiveOf('agent'));
  });
  after(() => rootfs.remove());

  test('the agent-server starts there as well', async () => {
    const run = rootfs.run(['/Agent/bin/node', '/Agent/agent-server.mjs']);
    await assert.rejects(run, /give either --config-fd or --config-file/);
  });
});

suite('The agent image', { skip }, () => {
  let rootfs: Rootfs;
  before(async () => {
    rootfs = await unpackImage(archiveOf('agent'));
  });
  after(() => rootfs.remove());

  test('has node, npm, npx and git', async () => {
    assert.match(await rootfs.run(['node', '--version']), /^v24\./);
    for (const program of ['npm', 'npx']) {
      assert.match(await rootfs.run([program, '--version'], { HOME: '/tmp' }), /^\d+\.\d+\.\d+\n$/);
    }
    assert.match(await rootfs.run(['git', '--version']), /^git version/);
  });

  test('copies /Agent into a volume whose root belongs to another user', async () => {
    const script =
      'cp -R /Agent/. /tmp/ && cmp /Agent/bin/node /tmp/bin/node && test -x /tmp/bin/node && ls /tmp';
    const copied = await rootfs.run(['sh', '-c', script]);
    assert.deepEqual(copied.trim().split('\n'), ['LICENSE', 'agent-server.mjs', 'bin', 'lib', ...reaper]);
  });
});
