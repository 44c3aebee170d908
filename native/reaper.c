/*
 * Runs one command and ends everything that came of it, also what was forked twice, took a session of its own, emptied
 * its environment and closed its descriptors: as a "child subreaper" (prctl(2)) it becomes the parent of every
 * descendant that loses its own. So something of the command lives exactly as long as this process has a child.
 *
 *   reaper NAME=VALUE PATH [ARGUMENT...]    NAME=VALUE is added to the command's environment
 *
 * Descriptors 0 to 3 are the command's. On 3, a socket, this process says, each as a line that begins with a zero byte:
 *   E<errno>  the command could not be started        X  it is over, but something of it lives
 * SIGTERM is passed on to every descendant. After SIGQUIT, the parent's end, or lingerSeconds after X, SIGKILL is sent
 * until nothing lives. The exit status, or the signal that ends this process, is the command's. No C library: the
 * start of one takes longer than all of this.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "syscalls.h"
enum { usage = 64, channel = 3, lingerSeconds = 3, most = 8192, nameAt = 19, lengthAt = 16 };

static char *put(char *to, const char *text) {
  while ((*to = *text++)) to++;
  return to;
}
static char *putNumber(char *to, long number) {
  if (number > 9) to = putNumber(to, number / 10);
  return put(to, (char[]){'0' + number % 10, 0});
}
static void tell(char what, long detail) { /* Without waiting: where it does not arrive, lingerSeconds count. */
  char line[32] = {'\n', 0, what}; /* The first ends what the command may have begun. */
  sys(sendto, channel, line, put(putNumber(line + 3, detail), "\n") - line, MSG_DONTWAIT | MSG_NOSIGNAL);
}
static int found[most], count;
static void readChildren(const char *path) { /* Numbers, a space after each. */
  char bytes[512];
  long got, number = 0, file = sys(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  while (file >= 0 && (got = sys(read, file, bytes, sizeof bytes, 0)) > 0)
    for (char *at = bytes; at < bytes + got; at++)
      if (*at != ' ') number = number * 10 + *at - '0';
      else found[count < most ? count++ : most - 1] = number, number = 0;
  if (file >= 0) sys(close, file, 0, 0, 0);
}
/* Parents before their children, so that none sees its child end and goes on. */
static void signalAll(int signal) {
  char folder[64], path[320], entries[1024] __attribute__((aligned(8)));
  count = 0;
  for (int at = -1; at < count; at++) {
    put(putNumber(put(folder, "/proc/"), at < 0 ? sys(getpid, 0, 0, 0, 0) : found[at]), "/task/");
    long got, tasks = sys(openat, AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    while (tasks >= 0 && (got = sys(getdents64, tasks, entries, sizeof entries, 0)) > 0)
      for (char *entry = entries; entry < entries + got; entry += *(unsigned short *)(entry + lengthAt))
        put(put(put(path, folder), entry + nameAt), "/children"), readChildren(path);
    if (tasks >= 0) sys(close, tasks, 0, 0, 0);
  }
  for (int at = 0; at < count; at++) sys(kill, found[at], signal, 0, 0);
}

static void command(char **argv, char **environment, const unsigned long *mask) {
  sys(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0), sys(setsid, 0, 0, 0, 0);
  sys(rt_sigprocmask, SIG_SETMASK, mask, 0, sizeof *mask);
  long failure = -sys(execve, argv[1], argv + 1, environment, 0);
  argv[0] = "/bin/sh"; /* A script that does not name its program. */
  if (failure == ENOEXEC) failure = -sys(execve, argv[0], argv, environment, 0);
  tell('E', failure), sys(exit_group, 127, 0, 0, 0);
}

void run(long *stack) {
  long argc = *stack, pid, linger[] = {0, 0, lingerSeconds, 0}, pause[] = {0, 2000000}; /* itimerval, timespec */
  char **argv = (char **)(stack + 1), **environment = argv + argc, *wiped = argv[1], *end = environment[1];
  if (argc < 3) sys(exit_group, usage, 0, 0, 0);
  for (int at = 1; at < argc; at++) argv[at] = argv[at + 1];
  environment[0] = wiped; /* Where the arguments ended before they moved down by one. */
  unsigned long all = ~0ul, before;
  sys(rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
  sys(prctl, PR_SET_PDEATHSIG, SIGQUIT, 0, 0), sys(prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0);
  long child = sys(clone, SIGCHLD, 0, 0, 0);
  if (child == 0) command(argv, environment, &before);
  if (child < 0) tell('E', -child), sys(exit_group, 127, 0, 0, 0);
  for (int fd = 0; fd < channel; fd++) sys(close, fd, 0, 0, 0);
  while (wiped < end) *wiped++ = 0; /* ps shows the command once. */
  int status = 0, over = 0, killing = 0;
  for (;;) {
    int told = over, ended;
    while ((pid = sys(wait4, -1, &ended, WNOHANG, 0)) > 0)
      if (pid == child) over = 1, status = ended;
    if (pid < 0) break;
    if (over && !told) tell('X', 0), sys(setitimer, 0, linger, 0, 0);
    if (killing) signalAll(SIGKILL);
    int got = sys(rt_sigtimedwait, &all, 0, killing ? pause : 0, sizeof all);
    if (got == SIGTERM && !killing) signalAll(SIGTERM);
    if (got == SIGQUIT || got == SIGALRM) killing = 1;
  }
  if (!WIFSIGNALED(status)) sys(exit_group, WEXITSTATUS(status), 0, 0, 0);
  sys(prctl, PR_SET_DUMPABLE, 0, 0, 0), sys(kill, sys(getpid, 0, 0, 0, 0), WTERMSIG(status), 0, 0);
  all &= ~(1ul << (WTERMSIG(status) - 1));
  sys(rt_sigprocmask, SIG_SETMASK, &all, 0, sizeof all), sys(exit_group, 128 + WTERMSIG(status), 0, 0, 0);
}
