"""Attacks from inside a sandbox: probes.py GROUP [JSON]. Prints `name<TAB>works|stopped|absent<TAB>detail` for each."""
import ctypes, errno, json, os, resource, signal, socket, struct, sys, time

given = json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def tell(name, verdict, detail):
    print(name, verdict, detail, sep="\t", flush=True)


def attempt(name, action):
    """An action that fails is an attack that was stopped."""
    try:
        tell(name, "works", action() or "done")
    except FileNotFoundError:
        tell(name, "stopped", "ENOENT")
    except OSError as error:
        tell(name, "stopped", errno.errorcode.get(error.errno, type(error).__name__) if error.errno else "timeout")


def status():
    fields = {}
    with open("/proc/self/status") as file:
        for line in file:
            key, _, value = line.partition(":")
            fields[key] = value.split()
    def judge(name, is_held, shown):
        tell(name, "works" if is_held else "stopped", shown)
    judge("holds capabilities", int(fields["CapEff"][0], 16) != 0, "CapEff " + fields["CapEff"][0])
    judge("may gain privileges by exec", fields["NoNewPrivs"][0] != "1", "NoNewPrivs " + fields["NoNewPrivs"][0])
    judge("has every system call", fields["Seccomp"][0] != "2", "Seccomp " + fields["Seccomp"][0])
    judge("is root", fields["Uid"][1] == "0", "root" if fields["Uid"][1] == "0" else "another user")


# Numbers for x86-64 and arm64, with arguments that harm nothing where the call is allowed.
def kernel():
    x64 = os.uname().machine == "x86_64"
    blank = ctypes.create_string_buffer(256)
    software_clock = ctypes.create_string_buffer(struct.pack("<II", 1, 112), 256)
    user_and_signal = ctypes.create_string_buffer(struct.pack("<QQQQQ", 0x10000000, 0, 0, 0, signal.SIGCHLD), 64)
    place = os.path.join(given["scratch"], "mount-point-%d" % os.getpid()).encode()
    os.mkdir(place)
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    memory = ctypes.create_string_buffer(16)
    vector = ctypes.create_string_buffer(struct.pack("<QQ", ctypes.addressof(memory), 8))
    calls = {
        "mount": (165 if x64 else 40, b"none", place, b"tmpfs", 0, None),
        "umount2": (166 if x64 else 39, place, 8),
        "pivot_root": (155 if x64 else 41, b"/", b"/"),
        "fsopen": (430, b"tmpfs", 0),
        "open_tree": (428, -100, place, 1),
        "unshare a user namespace": (272 if x64 else 97, 0x10000000),
        "unshare a network namespace": (272 if x64 else 97, 0x40000000),
        "clone a user namespace": (56 if x64 else 220, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0),
        "clone3 a user namespace": (435, user_and_signal, 64),
        "setns": (308 if x64 else 268, -1, 0),
        "ptrace another process": (101 if x64 else 117, 16, child, 0, 0),
        "process_vm_readv": (310 if x64 else 270, os.getpid(), vector, 1, vector, 1, 0),
        "pidfd_getfd": (438, -1, 0, 0),
        "keyctl": (250 if x64 else 219, 0, -3, 1),
        "add_key": (248 if x64 else 217, b"user", b"x", b"y", 1, -3),
        "bpf": (321 if x64 else 280, 0, blank, 0),
        "io_uring_setup": (425, 1, blank),
        "perf_event_open": (298 if x64 else 241, software_clock, 0, -1, -1, 0),
        "userfaultfd": (323 if x64 else 282, 1),
        "kexec_load": (246 if x64 else 104, 0, 0, None, 0),
        "kexec_file_load": (320 if x64 else 294, -1, -1, 0, None, 0),
        "init_module": (175 if x64 else 105, blank, 0, b""),
        "name_to_handle_at": (303 if x64 else 264, -100, b"/tmp", blank, blank, 0),
        "open_by_handle_at": (304 if x64 else 265, -1, blank, 0),
        "personality": (135 if x64 else 92, 0xFFFFFFFF),
        "syslog": (103 if x64 else 116, 10, None, 0),
    }
    for name, (number, *args) in calls.items():
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            ctypes.set_errno(0)
            result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
            if result == 0 and name.startswith("clone"):
                os._exit(0)
            error = ctypes.get_errno()
            word = "done" if result >= 0 else errno.errorcode.get(error, str(error))
            # Any other error comes from the call's own code: the kernel carried it out.
            tell(name, "stopped" if word in ("EPERM", "EACCES", "ENOSYS") else "works", word)
            os._exit(0)
        os.waitpid(pid, 0)
    os.kill(child, signal.SIGKILL)
    libc.umount2(place, 2)
    os.rmdir(place)
    attempt("write core_pattern", lambda: os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY)))
    attempt("write a cgroup's release_agent", lambda: os.close(os.open("/sys/fs/cgroup/memory/release_agent", os.O_WRONLY)))
    attempt("read /dev/kmsg", lambda: os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)))
    attempt("make a device file", lambda: os.mknod(os.path.join(given["scratch"], "disk-%d" % os.getpid()), 0o60600, os.makedev(254, 0)))


def network():
    def tcp(host, port):
        with socket.create_connection((host, int(port)), timeout=2):
            return "connected"
    def dns():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(1)
            query = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x06canary\x04test\x00\x00\x10\x00\x01"
            s.sendto(query, (given["dns"], given.get("dnsPort", 53)))
            return "%d bytes" % len(s.recv(512))
    def unix(name):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(2)
            s.connect(name)
            return "connected"
    def opened(family, kind, protocol=0):
        socket.socket(family, kind, protocol).close()
        return "opened"
    def interfaces():
        names = [name for _, name in socket.if_nameindex() if name != "lo"]
        if not names:
            raise OSError(errno.ENODEV, "lo alone")
        return "another interface"
    attempt("TCP to the host's 127.0.0.1", lambda: tcp("127.0.0.1", given["port"]))
    attempt("TCP to the host's ::1", lambda: tcp("::1", given["port"]))
    for name, host in given.get("hosts", {}).items():
        attempt("TCP to " + name, lambda: tcp(host, given["hostPort"]))
    attempt("DNS query to the host's resolver", dns)
    attempt("abstract Unix socket", lambda: unix("\0" + given["abstract"]))
    attempt("Unix socket in a folder of the host", lambda: unix(given["unix"]))
    attempt("netlink: interfaces of the host", interfaces)
    attempt("netlink: audit", lambda: opened(socket.AF_NETLINK, socket.SOCK_RAW, 9))
    attempt("netlink: kernel events", lambda: opened(socket.AF_NETLINK, socket.SOCK_RAW, 15))
    attempt("packet socket", lambda: opened(socket.AF_PACKET, socket.SOCK_RAW))
    attempt("raw IP socket", lambda: opened(socket.AF_INET, socket.SOCK_RAW, 1))
    attempt("vsock to the hypervisor", lambda: opened(40, socket.SOCK_STREAM))
    attempt("kernel crypto socket", lambda: opened(38, socket.SOCK_SEQPACKET))


def files():
    canary, pid, scratch = given["canary"], given["pid"], given["scratch"]
    def read(path):
        with open(path) as file:
            text = file.read()
        if given["word"] not in text:
            raise OSError(errno.ENODATA, "another file")
        return "read"
    def write(path):
        with open(path, "w") as file:
            file.write("from inside")
        return "written"
    def through(link):
        path = os.path.join(scratch, "link-%d" % os.getpid())
        link(canary, path)
        try:
            return read(path)
        finally:
            os.unlink(path)
    def descriptors():
        found = []
        for fd in map(int, os.listdir("/proc/self/fd")):
            try:
                if fd > 2 and "canary" in os.readlink("/proc/self/fd/%d" % fd):
                    found.append(os.pread(fd, 100, 0).decode())
            except OSError:
                pass
        if not found:
            raise OSError(errno.EBADF, "none")
        return "read"
    def listing():
        if str(pid) not in os.listdir("/proc"):
            raise OSError(errno.ESRCH, "hidden")
        return "seen"
    attempt("read a file of the host", lambda: read(canary))
    attempt("read another agent's file", lambda: read(given["other"]))
    attempt("read the workspace's keys", lambda: read(given["key"]))
    attempt("write beside it", lambda: write(os.path.join(os.path.dirname(canary), "new")))
    attempt("read it by a symbolic link", lambda: through(os.symlink))
    attempt("read it by a hard link", lambda: through(os.link))
    attempt("read it by /proc/self/root", lambda: read("/proc/self/root" + canary))
    attempt("read it by /proc/1/root", lambda: read("/proc/1/root" + canary))
    attempt("read it by /proc/PID/root of a host process", lambda: read("/proc/%d/root%s" % (pid, canary)))
    attempt("read it by an inherited descriptor", descriptors)
    attempt("see processes of the host", listing)
    attempt("read a host process's environment", lambda: read("/proc/%d/environ" % pid))
    attempt("signal a host process", lambda: os.kill(pid, 0))


def persistence():
    def write(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "a") as file:
            file.write("# planted\n")
        return "written"
    def replace(path):
        os.rename(path, path + ".old")
        os.symlink("/tmp", path)
        return "replaced"
    for place, names in given["places"].items():
        for name in names:
            attempt(name + " " + given["words"][place], lambda: write(os.path.join(given["paths"][place], name)))
    attempt("swap .git for a symbolic link", lambda: replace(os.path.join(given["paths"]["project"], ".git")))


def processes():
    started = []
    def fork():
        for _ in range(given["count"]):
            pid = os.fork()
            if pid == 0:
                time.sleep(30)
                os._exit(0)
            started.append(pid)
        return "all started"
    attempt("fork bomb", fork)
    for pid in started:
        os.kill(pid, signal.SIGKILL)


def memory():
    held = []
    for _ in range(given["mebibytes"]):
        held.append(bytearray(os.urandom(1)) * 1048576)
    tell("memory", "works", "all held")


def disk():
    path = os.path.join(given["folder"], "fill")
    def fill():
        try:
            with open(path, "wb") as file:
                for _ in range(given["mebibytes"]):
                    file.write(bytes(1048576))
            return "all written"
        finally:
            os.unlink(path)
    attempt("fill " + given["what"], fill)


def descriptors():
    held = []
    def open_all():
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        for _ in range(given["count"]):
            held.append(os.open("/dev/null", os.O_RDONLY))
        return "all opened"
    attempt("open files", open_all)


def terminal():
    import fcntl, termios
    def typed():
        for byte in b"id":
            fcntl.ioctl(0, termios.TIOCSTI, bytes([byte]))
        return "typed"
    attempt("TIOCSTI", typed)
    try:
        fcntl.ioctl(0, 0x541C, b"\x03")
        tell("TIOCLINUX", "works", "done")
    except OSError as error:
        word = errno.errorcode.get(error.errno, "")
        tell("TIOCLINUX", "stopped" if word == "EPERM" else "works", word)


globals()[sys.argv[1]]()
