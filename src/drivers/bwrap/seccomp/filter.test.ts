import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { seccompFilterFor } from './filter.ts';
import { runFilter } from './interpreter.ts';

const allow = 0x7fff_0000;
const eperm = 0x0005_0001;
const enosys = 0x0005_0026;
const eafnosupport = 0x0005_0061;

/** Numbers of <asm/unistd.h>. */
const architectures = {
  x64: {
    arch: 0xc000_003e,
    denied: {
      mount: 165,
      umount2: 166,
      pivot_root: 155,
      chroot: 161,
      unshare: 272,
      setns: 308,
      ptrace: 101,
      process_vm_readv: 310,
      process_vm_writev: 311,
      keyctl: 250,
      add_key: 248,
      request_key: 249,
      bpf: 321,
      perf_event_open: 298,
      userfaultfd: 323,
      kexec_load: 246,
      kexec_file_load: 320,
      open_by_handle_at: 304,
      name_to_handle_at: 303,
      init_module: 175,
      finit_module: 313,
      reboot: 169,
      swapon: 167,
      syslog: 103,
      iopl: 172,
      ioperm: 173,
      modify_ldt: 154,
      personality: 135,
      fanotify_init: 300,
      pidfd_getfd: 438,
      kcmp: 312,
    },
    absent: {
      clone3: 435,
      io_uring_setup: 425,
      io_uring_enter: 426,
      io_uring_register: 427,
      open_tree: 428,
      move_mount: 429,
      fsopen: 430,
      mount_setattr: 442,
    },
    allowed: {
      read: 0,
      write: 1,
      openat: 257,
      execve: 59,
      futex: 202,
      epoll_wait: 232,
      getrandom: 318,
      prctl: 157,
      seccomp: 317,
      setuid: 105,
      setresuid: 117,
      fork: 57,
      vfork: 58,
      kill: 62,
      memfd_create: 319,
      pidfd_open: 434,
      statx: 332,
    },
    clone: 56,
    ioctl: 16,
    socket: 41,
  },
  arm64: {
    arch: 0xc000_00b7,
    denied: {
      mount: 40,
      umount2: 39,
      pivot_root: 41,
      chroot: 51,
      unshare: 97,
      setns: 268,
      ptrace: 117,
      process_vm_readv: 270,
      process_vm_writev: 271,
      keyctl: 219,
      add_key: 217,
      request_key: 218,
      bpf: 280,
      perf_event_open: 241,
      userfaultfd: 282,
      kexec_load: 104,
      kexec_file_load: 294,
      open_by_handle_at: 265,
      name_to_handle_at: 264,
      init_module: 105,
      finit_module: 273,
      reboot: 142,
      swapon: 224,
      syslog: 116,
      personality: 92,
      fanotify_init: 262,
      pidfd_getfd: 438,
      kcmp: 272,
    },
    absent: {
      clone3: 435,
      io_uring_setup: 425,
      io_uring_enter: 426,
      io_uring_register: 427,
      open_tree: 428,
      move_mount: 429,
      fsopen: 430,
      mount_setattr: 442,
    },
    allowed: {
      read: 63,
      write: 64,
      openat: 56,
      execve: 221,
      futex: 98,
      epoll_pwait: 22,
      getrandom: 278,
      prctl: 167,
      seccomp: 277,
      setuid: 146,
      setresuid: 147,
      kill: 129,
      memfd_create: 279,
      pidfd_open: 434,
      statx: 291,
    },
    clone: 220,
    ioctl: 29,
    socket: 198,
  },
} as const;

const namespaces = {
  NEWNS: 0x0002_0000n,
  NEWCGROUP: 0x0200_0000n,
  NEWUTS: 0x0400_0000n,
  NEWIPC: 0x0800_0000n,
  NEWUSER: 0x1000_0000n,
  NEWPID: 0x2000_0000n,
  NEWNET: 0x4000_0000n,
};

for (const [name, calls] of Object.entries(architectures)) {
  describe(`the system call filter for ${name}`, () => {
    const program = readFileSync(seccompFilterFor(name));
    const verdict = (number: number, ...values: bigint[]) =>
      runFilter(program, { number, arch: calls.arch, arguments: values });

    for (const [call, number] of Object.entries(calls.denied)) {
      it(`does not permit ${call}`, () => assert.equal(verdict(number), eperm));
    }
    for (const [call, number] of Object.entries(calls.absent)) {
      it(`hides ${call}, so that programs fall back`, () => assert.equal(verdict(number), enosys));
    }
    for (const [call, number] of Object.entries(calls.allowed)) {
      it(`allows ${call}`, () => assert.equal(verdict(number), allow));
    }
    it('hides every call newer than the list', () => {
      for (const number of [451, 452, 460, 500, 1000, 0x3fff_ffff]) assert.equal(verdict(number), enosys);
    });
    it('refuses the calls of other architectures and of x32', () => {
      for (const arch of [0x4000_0003, 0x4000_0028, 0x0000_0008]) {
        assert.notEqual(runFilter(program, { number: 0, arch }), allow);
      }
      assert.notEqual(verdict(0x4000_0000 + 1), allow);
    });
    it('allows threads and processes, and no new namespace', () => {
      assert.equal(verdict(calls.clone, 0x003d_0f00n), allow);
      assert.equal(verdict(calls.clone, 17n), allow);
      for (const flag of Object.values(namespaces)) {
        assert.equal(verdict(calls.clone, flag), eperm);
        assert.equal(verdict(calls.clone, flag | 17n), eperm);
      }
    });
    it('refuses to type into a terminal, whatever stands in the upper half of the request', () => {
      assert.equal(verdict(calls.ioctl, 0n, 0x5401n), allow);
      for (const request of [0x5412n, 0x541cn]) {
        assert.equal(verdict(calls.ioctl, 0n, request), eperm);
        assert.equal(verdict(calls.ioctl, 0n, request | 0xffff_ffff_0000_0000n), eperm);
      }
    });
    it('allows Unix, internet and route sockets only', () => {
      for (const family of [1n, 2n, 10n]) assert.equal(verdict(calls.socket, family, 1n, 0n), allow);
      assert.equal(verdict(calls.socket, 16n, 3n, 0n), allow);
      assert.equal(verdict(calls.socket, 16n, 3n, 9n), eafnosupport);
      for (const family of [3n, 4n, 5n, 9n, 15n, 17n, 29n, 38n, 40n, 44n]) {
        assert.equal(verdict(calls.socket, family, 1n, 0n), eafnosupport);
      }
    });
  });
}

const missing = ['/usr/include/seccomp.h', '/usr/bin/gcc'].filter((path) => !existsSync(path));

describe('the committed filters', () => {
  it('are what the generator makes', { skip: missing.length > 0 && `needs ${missing.join(' and ')}` }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'seccomp-'));
    try {
      const generate = join(folder, 'generate');
      execFileSync('gcc', ['-O1', '-o', generate, join(import.meta.dirname, 'generate.c'), '-lseccomp']);
      for (const [arch, name] of [
        ['x86_64', 'x64'],
        ['aarch64', 'arm64'],
      ] as const) {
        const made = join(folder, name);
        assert.equal(spawnSync(generate, [arch, made]).status, 0);
        assert.deepEqual(readFileSync(made), readFileSync(seccompFilterFor(name)));
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
