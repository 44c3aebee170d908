/*
 * Writes the seccomp filter of the bwrap driver as raw BPF for one architecture:
 *   generate x86_64|aarch64 FILE
 * Needs libseccomp 2.5 and its headers; the output is committed, no build runs this.
 *
 * Default: allow. Refused with EPERM: what a tool has no business with and what has been the door of kernel
 * escapes. ENOSYS where a program falls back to an older call when it sees it (clone3, the new mount calls,
 * io_uring) and for every call newer than this list. Calls of another ABI (i386, x32) are refused.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TIOCSTI_REQUEST 0x5412u
#define TIOCLINUX_REQUEST 0x541Cu
/* Numbers from here on are the same on every architecture and unknown to this list (x32's are far above). */
#define FIRST_UNKNOWN_CALL 451

static const char *const not_permitted[] = {
    /* namespaces and mounts */
    "mount", "umount", "umount2", "pivot_root", "chroot", "unshare", "setns",
    /* other processes' memory and descriptors */
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
    /* keyrings are not namespaced */
    "keyctl", "add_key", "request_key",
    /* large kernel surfaces */
    "bpf", "perf_event_open", "userfaultfd", "fanotify_init", "fanotify_mark", "lookup_dcookie",
    "name_to_handle_at", "open_by_handle_at", "vmsplice", "personality", "remap_file_pages",
    /* the machine itself */
    "kexec_load", "kexec_file_load", "reboot", "init_module", "finit_module", "delete_module",
    "create_module", "get_kernel_syms", "query_module", "swapon", "swapoff", "acct", "quotactl",
    "quotactl_fd", "syslog", "iopl", "ioperm", "modify_ldt", "vm86", "vm86old", "sethostname",
    "setdomainname", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "stime", "vhangup",
    "nfsservctl", "_sysctl", "sysfs", "uselib", "ustat", "move_pages", "migrate_pages", "mbind",
    "set_mempolicy", "set_mempolicy_home_node", NULL};

static const char *const not_there[] = {
    "clone3", "io_uring_setup", "io_uring_enter", "io_uring_register", "open_tree", "move_mount", "fsopen",
    "fsconfig", "fsmount", "fspick", "mount_setattr", NULL};

static const unsigned long namespace_flags[] = {CLONE_NEWNS,  CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                                CLONE_NEWUSER, CLONE_NEWPID,   CLONE_NEWNET, 0};

static scmp_filter_ctx filter;

static int refuse(const char *name, int error) {
  int number = seccomp_syscall_resolve_name(name);
  if (number == __NR_SCMP_ERROR) return 0;
  return seccomp_rule_add(filter, SCMP_ACT_ERRNO(error), number, 0);
}

static int refuse_lists(void) {
  int result = 0;
  for (int i = 0; not_permitted[i]; i++) result |= refuse(not_permitted[i], EPERM);
  for (int i = 0; not_there[i]; i++) result |= refuse(not_there[i], ENOSYS);
  return result;
}

static int refuse_namespaces(void) {
  int result = 0;
  for (int i = 0; namespace_flags[i]; i++)
    result |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                               SCMP_A0(SCMP_CMP_MASKED_EQ, namespace_flags[i], namespace_flags[i]));
  return result;
}

/* The kernel looks at the low 32 bits of the request only, so the filter must too. */
static int refuse_terminal_input(void) {
  return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                          SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, TIOCSTI_REQUEST)) |
         seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                          SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, TIOCLINUX_REQUEST));
}

/* Unix (1), IPv4 (2), IPv6 (10) and netlink (16) with protocol ROUTE (0), which getifaddrs needs. */
static int refuse_socket_families(void) {
  int result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                                SCMP_A0(SCMP_CMP_GT, 16));
  result |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 2,
                             SCMP_A0(SCMP_CMP_EQ, 16), SCMP_A2(SCMP_CMP_NE, 0));
  for (int family = 3; family < 16; family++)
    if (family != 10)
      result |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                                 SCMP_A0(SCMP_CMP_EQ, family));
  return result;
}

/* libseccomp cannot compare a call's number; jumps in BPF are relative, so this goes before its program. */
static int write_unknown_calls(int file) {
  struct sock_filter prefix[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST_UNKNOWN_CALL, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
  };
  return write(file, prefix, sizeof prefix) == sizeof prefix ? 0 : -1;
}

int main(int argc, char **argv) {
  if (argc != 3) return fprintf(stderr, "usage: %s x86_64|aarch64 FILE\n", argv[0]), 2;
  uint32_t arch = strcmp(argv[1], "aarch64") == 0 ? SCMP_ARCH_AARCH64 : SCMP_ARCH_X86_64;
  filter = seccomp_init(SCMP_ACT_ALLOW);
  int result = 0;
  if (arch != seccomp_arch_native())
    result |= seccomp_arch_add(filter, arch) | seccomp_arch_remove(filter, SCMP_ARCH_NATIVE);
  result |= seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
  /* A binary tree over the numbers: about 9 comparisons a call instead of 300. */
  result |= seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
  result |= refuse_lists() | refuse_namespaces() | refuse_terminal_input() | refuse_socket_families();
  int file = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (result != 0 || file < 0 || write_unknown_calls(file) != 0 || seccomp_export_bpf(filter, file) != 0)
    return fprintf(stderr, "could not make the filter: %d\n", result), 1;
  return close(file);
}
