import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type AttackOptions, attack, commandLineFor, type Weakening } from '#test/fixtures/attack-sandbox.ts';
import { bwrapAvailability, createDriverHost, type DriverHost } from '#test/fixtures/driver-host.ts';

const availability = await bwrapAvailability();
const python = '/usr/bin/python3';
const reason = availability.ok
  ? existsSync(python)
    ? undefined
    : 'python3 is not installed'
  : availability.reason;
const isRoot = process.getuid?.() === 0;
const attacks = readFileSync(join(import.meta.dirname, '../../fixtures/attacks.py'), 'utf8');

/** Each attack is made twice: in the sandbox as it is, and in one without the defence that should stop it. */
describe('from inside a sandbox', { skip: reason, timeout: 120_000 }, () => {
  let host: DriverHost;
  let code: AttackOptions['code'];
  before(() => {
    host = createDriverHost();
    chmodSync(host.folder, 0o755);
    code = { type: 'inline', files: { 'attacks.py': attacks } };
  });
  after(() => host.remove());

  const inside = async (name: string, argument = '', weakening: Weakening = {}) => {
    const outcome = await attack(host, [python, '/code/attacks.py', name, argument], {
      ...(code === undefined ? {} : { code }),
      weakening,
    });
    assert.equal(outcome.code, 0, outcome.stderr);
    return outcome.stdout.trim();
  };
  /** Options that bind a host folder under its own name, as if the sandbox did not hide it. */
  const showing = (folder: string): Weakening => ({ add: ['--ro-bind', folder, folder], keepUser: true });

  it('the process has another user, no capability, no new privileges and a filter', async () => {
    const status = await inside('status');
    assert.match(status, /^CapEff: 0+$/m);
    assert.match(status, /^NoNewPrivs: 1$/m);
    assert.match(status, /^Seccomp: 2$/m);
    assert.doesNotMatch(status, /^Uid: 0 /m);
    if (isRoot) assert.match(status, /^CapBnd: 0+$/m);
    const control = await inside('status', '', { noFilter: true, keepUser: true });
    assert.match(control, /^Seccomp: 0$/m);
    if (isRoot) assert.match(control, /^Uid: 0 /m);
  });

  describe('with listeners on the host', () => {
    let server: Server;
    let hidden: Server;
    const name = `ploinky-test-${process.pid}`;
    before(async () => {
      server = createServer((socket) => socket.end());
      hidden = createServer((socket) => socket.end());
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      await new Promise<void>((resolve) => hidden.listen(`\0${name}`, resolve));
    });
    after(() => {
      server.close();
      hidden.close();
    });
    const port = () => String((server.address() as { port: number }).port);
    const sharedNetwork: Weakening = { without: [['--unshare-net', 0]] };

    it('nothing on the host’s loopback is reached', async () => {
      assert.equal(await inside('tcp', port()), 'refused ECONNREFUSED');
      assert.equal(await inside('tcp', port(), sharedNetwork), 'connected');
    });
    it('no abstract socket of the host is reached', async () => {
      assert.equal(await inside('abstract', name), 'refused ECONNREFUSED');
      assert.equal(await inside('abstract', name, sharedNetwork), 'connected');
    });
  });

  it('no file of the host is read', async () => {
    const folder = join(host.folder, 'elsewhere');
    mkdirSync(folder, { recursive: true });
    const canary = join(folder, 'canary');
    writeFileSync(canary, 'host secret');
    assert.equal(await inside('read', canary), 'refused ENOENT');
    assert.equal(await inside('read', canary, showing(folder)), 'host secret');
    for (const path of [
      '/root/.bashrc',
      '/home',
      '/etc/shadow',
      '/var/lib/dpkg/status',
      '/sys/kernel/uevent_seqnum',
    ]) {
      assert.match(await inside('read', path), /^refused (ENOENT|EISDIR)$/, path);
    }
  });

  it('no other agent’s files and no key of the workspace are read', async () => {
    const other = join(host.places.state, 'agents', 'other');
    mkdirSync(other, { recursive: true });
    writeFileSync(join(other, 'diary'), 'another agent’s');
    const apiserver = join(host.places.state, 'apiserver');
    mkdirSync(apiserver, { recursive: true });
    writeFileSync(join(apiserver, 'master'), 'key');
    for (const path of [join(other, 'diary'), join(apiserver, 'master'), '/workspace/../other/diary']) {
      assert.equal(await inside('read', path), 'refused ENOENT', path);
    }
    assert.equal(await inside('read', join(other, 'diary'), showing(other)), 'another agent’s');
  });

  it('.ploinky is empty when the code folder contains it', async () => {
    writeFileSync(join(host.places.state, 'secret'), 'of the workspace');
    const whole: AttackOptions = { code: { type: 'path', path: host.folder, writable: false } };
    const listing = await attack(host, ['/bin/ls', '-A', '/code/.ploinky'], whole);
    assert.deepEqual([listing.code, listing.stdout], [0, '']);
    const control = await attack(host, ['/bin/cat', '/code/.ploinky/secret'], {
      ...whole,
      weakening: {
        keepUser: true,
        add: ['--bind', host.places.state, '/code/.ploinky'],
      },
    });
    assert.equal(control.stdout, 'of the workspace', control.stderr);
  });

  it('root’s private files stay private in a folder that the agent sees', {
    skip: !isRoot && 'needs root',
  }, async () => {
    const folder = join(host.folder, 'project');
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    writeFileSync(join(folder, 'private'), 'only for root', { mode: 0o600 });
    const options: AttackOptions = { code: { type: 'path', path: folder, writable: false } };
    const refused = await attack(host, ['/bin/cat', '/code/private'], options);
    assert.match(refused.stderr, /Permission denied/);
    const control = await attack(host, ['/bin/cat', '/code/private'], {
      ...options,
      weakening: { keepUser: true },
    });
    assert.equal(control.stdout, 'only for root');
  });

  it('only the workspace, the shared folder and /tmp are written', async () => {
    for (const path of ['/workspace/x', '/shared/x', '/tmp/x', '/dev/shm/x'])
      assert.equal(await inside('write', path), 'written', path);
    for (const path of [
      '/x',
      '/code/x',
      '/code/attacks.py',
      '/Agent/agent-server.mjs',
      '/Agent/bin/x',
      '/usr/x',
      '/etc/x',
      '/etc/passwd',
      '/run/x',
      '/run/ploinky/router.sock',
      '/dev/x',
      '/var/x',
      '/proc/sys/kernel/hostname',
    ]) {
      assert.match(await inside('write', path), /^refused (EROFS|EACCES|EPERM|ENXIO|ENOENT)$/, path);
    }
    const writable = { add: ['--bind', host.folder, '/code'], keepUser: true };
    assert.equal(
      (
        await attack(host, ['/bin/sh', '-c', 'echo x > /code/y && echo written'], { weakening: writable })
      ).stdout.trim(),
      'written',
    );
  });

  it('no process of the host is seen', async () => {
    assert.ok(Number(await inside('processes')) <= 3);
    const hidden = Number(await inside('processes', '', { without: [['--unshare-pid', 0]] }));
    assert.ok(hidden > 3, `the control saw ${hidden}`);
    // The first process is bwrap's own, under the same filter, with an empty environment.
    for (const path of ['/proc/1/root/etc/shadow', '/proc/1/environ', '/proc/1/root/home']) {
      assert.match(await inside('read', path), /^(refused (EACCES|ENOENT|EPERM)|)$/, path);
    }
  });

  it('the kernel’s large surfaces are closed', async () => {
    const parse = (text: string) =>
      new Map(text.split('\n').map((line) => line.split(' ') as [string, string]));
    const defended = parse(await inside('kernel'));
    assert.ok(defended.size >= 20);
    for (const [name, result] of defended) assert.match(result, /^(EPERM|ENOSYS)$/, name);
    const control = parse(await inside('kernel', '', { noFilter: true, without: [['--disable-userns', 0]] }));
    // What an unprivileged process may do without the filter, on every kernel that this was tried on.
    for (const name of ['unshare-user', 'ptrace-traceme', 'keyctl', 'personality', 'process_vm_readv']) {
      assert.equal(control.get(name), 'ok', `${name} without the filter`);
    }
    for (const name of ['io_uring_setup', 'clone3', 'name_to_handle_at']) {
      assert.doesNotMatch(control.get(name) ?? '', /^(EPERM|ENOSYS)$/, `${name} without the filter`);
    }
  });

  it('nothing is typed into the terminal of who started it', async (context) => {
    const plain = (await typeInto(host, code, {})).typed;
    assert.equal(plain, '');
    const control = await typeInto(host, code, { noFilter: true, without: [['--new-session', 0]] });
    if (control.refused === 'EIO' || control.refused === 'EPERM') {
      context.diagnostic(
        'this kernel refuses TIOCSTI to everyone (dev.tty.legacy_tiocsti=0): no control possible',
      );
      return;
    }
    assert.equal(control.typed, 'id');
  });

  it('a link in the agent’s folder does not lead the next start outside', async (context) => {
    const outside = join(host.folder, 'outside');
    const workspace = join(host.folder, 'ws');
    for (const folder of [outside, workspace]) mkdirSync(folder, { recursive: true });
    symlinkSync(`/oldroot${outside}`, join(workspace, 'link'));
    // The control: bwrap itself, told to make a folder below a writable bind.
    const naive = [
      '--ro-bind',
      '/usr',
      '/usr',
      '--symlink',
      'usr/bin',
      '/bin',
      '--symlink',
      'usr/lib',
      '/lib',
      '--symlink',
      'usr/lib64',
      '/lib64',
      '--bind',
      workspace,
      '/ws',
      '--dir',
      '/ws/link/made',
      '--',
      '/bin/true',
    ];
    const user = isRoot ? [] : ['--unshare-user'];
    spawnSync('bwrap', [...user, ...naive], { encoding: 'utf8' });
    if (!existsSync(join(outside, 'made'))) {
      context.diagnostic(
        'this bubblewrap does not follow such links any more (0.12 or later): no control possible',
      );
    }
    // The driver: the agent has filled its workspace with links named like everything that is mounted.
    const ours = join(host.folder, 'outside-ours');
    mkdirSync(ours);
    const names = ['link', '.ploinky', 'node_modules', 'code', 'deps', 'skills', 'tmp', '.tasksQueue'];
    const script = names
      .map((name) => `ln -sfn /oldroot${ours} /workspace/${name}; ln -sfn /oldroot${ours} /shared/${name}`)
      .join(';');
    const first = await attack(host, ['/bin/sh', '-c', script], { code: { type: 'inline', files: {} } });
    assert.equal(first.code, 0, first.stderr);
    await attack(host, ['/bin/true'], { code: { type: 'inline', files: {} } });
    assert.deepEqual(execFileSync('find', [ours]).toString().trim(), ours);
  });
});

/** Becomes the leader of a session with a terminal of its own and runs its arguments with that as stdin. */
const terminalHelper = `
import fcntl, os, pty, select, sys, termios, tty
master, slave = pty.openpty()
tty.setraw(slave)
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 1)
    os.dup2(slave, 0)
    os.execv(sys.argv[1], sys.argv[1:])
os.waitpid(pid, 0)
ready, _, _ = select.select([slave], [], [], 0.3)
print("TYPED:" + (os.read(slave, 100).decode() if ready else ""))
`;

/** Says what arrived at the terminal's input, and the error that the attack got. */
async function typeInto(
  host: DriverHost,
  code: AttackOptions['code'],
  weakening: Weakening,
): Promise<{ typed: string; refused: string | undefined }> {
  const options = { ...(code === undefined ? {} : { code }), weakening };
  const line = await commandLineFor(host, [python, '/code/attacks.py', 'terminal', 'id'], options);
  const helper = spawn(python, ['-c', terminalHelper, ...line.command], {
    stdio: ['ignore', 'pipe', 'pipe', ...line.files],
  });
  let output = '';
  helper.stdout?.on('data', (chunk) => {
    output += String(chunk);
  });
  helper.stderr?.on('data', (chunk) => {
    output += String(chunk);
  });
  await new Promise((resolve) => helper.once('close', resolve));
  line.close();
  const typed = /TYPED:(.*)/.exec(output)?.[1];
  assert.ok(typed !== undefined, output);
  return { typed, refused: /refused (\w+)/.exec(output)?.[1] };
}
