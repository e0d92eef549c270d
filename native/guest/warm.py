"""The warm parent of Python runs (warm.c starts it, and passes this text as an argument).

It waits, as root of the sandbox, with an interpreter that has started and loaded nothing of anybody's, and with one child,
forked ahead, that takes the next request. That child becomes what start.c makes of a plain start (session, limits, group, uid, no capability, environment,
folder), then runs the code in the untouched __main__ of `python3 -c`. What would make a plain start differ (a variable that
Python or libc reads as it starts, packages of the user's own) makes the child become a plain start: exec.
"""
import sys

before = set(sys.modules)
import _signal as signal
import _socket
import ctypes
import gc
import os
import resource
import select

CHANNEL = 3
REQUEST_BYTES = 128 * 1024
# Read by the interpreter, the loader or libc when they start.
EARLY = (b"PYTHON", b"LC_", b"LANG", b"LD_", b"TZ", b"MALLOC_", b"GLIBC_", b"GCONV_", b"LOCPATH", b"NLSPATH", b"VIRTUAL_ENV")
PR_SET_DUMPABLE, SYS_CAPSET, CAPABILITY_VERSION = 4, {"x86_64": 126, "aarch64": 91}, 0x20080522
USER = 1000
RETRY_MS, RETRIES = 10, 100

libc = ctypes.CDLL(None, use_errno=True)
run_string = ctypes.pythonapi.PyRun_SimpleStringFlags
run_string.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
capset_number = SYS_CAPSET[os.uname().machine]
capability_header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
no_capabilities = (ctypes.c_uint32 * 6)()
early_here = {name: value for name, value in os.environb.items() if name.startswith(EARLY)}
copies_slowly = sys.argv.pop() == "copies-slowly"
version_folder = "python%d.%d" % sys.version_info[:2]


def limit(kind, soft, hard):
    most = resource.getrlimit(kind)[1]
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    resource.setrlimit(kind, (soft, hard))


def take_limits(cpu_seconds, processes, open_files):
    """As start.c sets them."""
    if processes:
        limit(resource.RLIMIT_NPROC, processes, processes)
    if open_files:
        limit(resource.RLIMIT_NOFILE, open_files, open_files)
    if cpu_seconds:
        limit(resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + 1)


def become_user():
    os.setresuid(USER, USER, USER)
    if libc.syscall(capset_number, capability_header, no_capabilities) != 0 or libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0:
        os._exit(127)


def is_plain(environment):
    """Whether a plain start with this environment would give the interpreter that this one is."""
    early = {name: value for name, value in environment.items() if name.startswith(EARLY)}
    if early != early_here or environment.get(b"PATH") != os.environb.get(b"PATH"):
        return False
    home = os.fsdecode(environment.get(b"HOME", b""))
    return bool(home) and not os.path.isdir(f"{home}/.local/lib/{version_folder}/site-packages")


def renew_standard_input():
    """The interpreter looked at descriptor 0 when it was another file."""
    import io

    buffer = io.open(0, "rb", closefd=False)
    buffer.raw.name = "<stdin>"
    old = sys.stdin
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(buffer, encoding=old.encoding, errors=old.errors, newline="\n")
    sys.stdin.mode = "r"


def renew_main():
    """The one there is belongs to this text's frame, which would keep what the run leaves in it from being finalised."""
    main = type(sys)("__main__")
    main.__dict__.update(sys.modules["__main__"].__dict__)
    main.__annotations__ = {}
    sys.modules["__main__"] = main


def renew_home():
    """The interpreter has started with another one."""
    site = sys.modules.get("site")
    if site:
        site.USER_BASE = site.USER_SITE = None
        site.getusersitepackages()


def become_run(numbers, fields, descriptors, channel):
    """Returns the code to run."""
    slot, group, cpu_seconds, processes, open_files, count = numbers
    folder, code, *rest = fields
    arguments, variables = rest[:count], rest[count:]
    try:
        os.setsid()
        for target, descriptor in enumerate(descriptors):
            os.dup2(descriptor, target)
        take_limits(cpu_seconds, processes, open_files)
        os.setgroups([group])
        os.setresgid(USER, USER, USER)
        os.setresuid(-1, USER, -1)  # the user's rights to look for the folder; still nobody whom user code may touch
        os.chdir(folder)
    except OSError as error:
        channel.send(b"F%d %d" % (slot, error.errno))
        os._exit(127)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    channel.detach()
    os.closerange(CHANNEL, 64)
    become_user()
    environment = dict(variable.split(b"=", 1) for variable in variables)
    if not is_plain(environment):
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execve(sys.executable, [b"python3", b"-c", code, *arguments], environment)
    for name in list(os.environb):
        if name not in environment:
            del os.environb[name]
    for name, value in environment.items():
        if os.environb.get(name) != value:
            os.environb[name] = value
    renew_home()
    sys.argv[1:] = [os.fsdecode(word) for word in arguments]
    sys.orig_argv[:] = ["python3", "-c", os.fsdecode(code), *sys.argv[1:]]
    renew_standard_input()
    renew_main()
    return code


def own_memory():
    """Writes to every page, so that the run does not wait for its copy: under gVisor that is most of what it would cost."""
    page = os.sysconf("SC_PAGESIZE")
    with open("/proc/self/maps") as maps:
        lines = maps.read().splitlines()
    for line in lines:
        span, rights = line.split()[:2]
        if rights == "rw-p" and "[stack]" not in line:
            start, end = (int(text, 16) for text in span.split("-"))
            for address in range(start, end, page):
                ctypes.memmove(address, address, 1)


def await_run(channel, taken):
    """In a child that was forked ahead of its run. Returns the code to run."""
    if copies_slowly:
        own_memory()
    message, attached, _, _ = channel.recvmsg(REQUEST_BYTES, 64)
    if not message:
        os._exit(0)
    head, *fields = message.split(b"\0")
    numbers = [int(number) for number in head.split()]
    os.write(taken, b"%d %d\n" % (os.getpid(), numbers[0]))
    channel.send(b"S%d %d" % (numbers[0], os.getpid()))
    return become_run(numbers, fields, memoryview(attached[0][2]).cast("i").tolist(), channel)


def take_notes(taken, runs):
    """Which run each child has taken. Whether any has."""
    try:
        notes = os.read(taken, 4096)
    except BlockingIOError:
        return False
    for note in notes.splitlines():
        pid, run = note.split()
        runs[int(pid)] = int(run)
    return True


def tell_ended(channel, taken, runs):
    """Whether a child has taken a run meanwhile: it may have ended with it already."""
    has_taken = False
    while True:
        try:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return has_taken
        if pid == 0:
            return has_taken
        if pid not in runs:
            has_taken = take_notes(taken, runs) or has_taken
        if pid not in runs:
            os._exit(1)  # a child that had no run yet was killed: start anew
        cpu_us = int((usage.ru_utime + usage.ru_stime) * 1_000_000)
        channel.send(b"E%d %d %d %d" % (runs.pop(pid), status, cpu_us, usage.ru_maxrss))


def refuse_runs(channel, errno):
    """As a plain start is refused when there are too many processes."""
    while True:
        try:
            message = channel.recv(REQUEST_BYTES, _socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        if not message:
            os._exit(0)
        slot = int(message.split(None, 1)[0])
        channel.send(b"F%d %d" % (slot, errno))
        channel.send(b"E%d 0 0 0" % slot)


def serve():
    """Returns in a child, with its code; the parent never returns."""
    channel = _socket.socket(fileno=CHANNEL)
    runs = {}
    wake_in, wake_out = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    taken_in, taken_out = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake_out, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    poll = select.poll()
    poll.register(CHANNEL, 0)
    poll.register(wake_in, select.POLLIN)
    poll.register(taken_in, select.POLLIN)
    gc.collect()
    gc.freeze()
    if os.fork() == 0:
        return await_run(channel, taken_out)
    channel.send(b"R")
    owed = failures = 0
    while True:
        ready = dict(poll.poll(RETRY_MS if owed else None))
        if CHANNEL in ready:
            os._exit(0)
        if wake_in in ready:
            os.read(wake_in, 4096)
        owed |= take_notes(taken_in, runs)
        owed |= tell_ended(channel, taken_in, runs)
        if not owed:
            continue
        try:
            child = os.fork()
        except OSError as error:
            failures += 1
            if failures > RETRIES:
                refuse_runs(channel, error.errno)
            continue
        if child == 0:
            return await_run(channel, taken_out)
        owed = failures = 0


def flush():
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        if stream is not None and not stream.closed:
            stream.flush()


def end_quickly(status):
    """What an interpreter does at its end that can be seen, without taking itself apart, which would copy all that it shares.
    Returns where that might not be all: the code brought modules of its own, or something fails."""
    try:
        brought = {name.partition(".")[0] for name in set(sys.modules) - loaded}
        if not brought <= getattr(sys, "stdlib_module_names", set()):
            return
        if "threading" in brought:
            sys.modules["threading"]._shutdown()
        if "atexit" in sys.modules:
            sys.modules["atexit"]._run_exitfuncs()
        flush()
        sys.last_type = sys.last_value = sys.last_traceback = None
        del sys.modules["__main__"]
        gc.collect()
        flush()
    except BaseException:
        return
    os._exit(status)


for name in set(sys.modules) - before:
    del sys.modules[name]
loaded = set(sys.modules)
signal.signal(signal.SIGINT, signal.SIG_DFL)
code = serve()
signal.signal(signal.SIGINT, signal.default_int_handler)
status = 0 if run_string(code, None) == 0 else 1
# After an interrupt a plain start ends by the signal, and so does this one when this text has ended.
if status == 0 or getattr(sys, "last_type", None) is not KeyboardInterrupt:
    end_quickly(status)
    if status != 0:
        sys.exit(status)
