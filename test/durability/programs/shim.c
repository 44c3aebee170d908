/* Stands before the C library's calls that write: for files below $SHIM_FOLDER it ends the process in the middle of the
   n-th piece that goes to a log (SHIM_KILL=log-write:n) or before the n-th flush (SHIM_KILL=before-commit:n), and
   flushes fail with EIO while the file $SHIM_FAULT exists. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int is_below(int fd, const char *end)
{
	const char *folder = getenv("SHIM_FOLDER");
	char name[64], path[4096];
	ssize_t length;

	if (folder == NULL)
		return 0;
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	length = readlink(name, path, sizeof path - 1);
	if (length < 0)
		return 0;
	path[length] = 0;
	if (strncmp(path, folder, strlen(folder)) != 0)
		return 0;
	return (size_t)length >= strlen(end) && strcmp(path + length - strlen(end), end) == 0;
}

static int is_due(const char *point)
{
	static int seen;
	const char *order = getenv("SHIM_KILL");

	if (order == NULL || strncmp(order, point, strlen(point)) != 0 || order[strlen(point)] != ':')
		return 0;
	return __sync_add_and_fetch(&seen, 1) == atoi(order + strlen(point) + 1);
}

static int flush(int fd, const char *name)
{
	const char *fault = getenv("SHIM_FAULT");
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);

	if (is_below(fd, "")) {
		if (is_due("before-commit"))
			kill(getpid(), SIGKILL);
		if (fault != NULL && access(fault, F_OK) == 0) {
			errno = EIO;
			return -1;
		}
	}
	return real(fd);
}

int fsync(int fd) { return flush(fd, "fsync"); }
int fdatasync(int fd) { return flush(fd, "fdatasync"); }

typedef ssize_t (*writer)(int, const void *, size_t, off_t);

static ssize_t put(int fd, const void *bytes, size_t size, off_t at, const char *name)
{
	writer real = (writer)dlsym(RTLD_NEXT, name);

	if (getenv("SHIM_KILL") != NULL && is_below(fd, "-wal") && is_due("log-write")) {
		real(fd, bytes, size / 2, at);
		kill(getpid(), SIGKILL);
	}
	return real(fd, bytes, size, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) { return put(fd, bytes, size, at, "pwrite"); }
ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) { return put(fd, bytes, size, at, "pwrite64"); }
