"""The Python kernel of a code context: one process that reads requests and runs code, so that variables live on.

User code runs in this very process, so nothing here is a boundary: whatever it does to the kernel hurts its own context, and
the host believes nothing that is said here. The kernel only tries to keep answering.
"""
import builtins

# Functions made from here on look names up in this copy: code that replaces builtins does not change the kernel's.
__builtins__ = dict(vars(builtins))

import __future__
import _thread
import ast
import base64
import contextlib
import fcntl
import io
import json
import linecache
import os
import signal
import sys
import traceback
import types
from time import sleep

KERNEL_FILE = __file__
FUTURE_FLAGS = [getattr(__future__, name).compiler_flag for name in __future__.all_feature_names]
IS_COROUTINE = 0x80
FIRST_PRIVATE_FD = 512
ATOMIC_BYTES = 4096  # PIPE_BUF: a frame up to this is never mixed with what others write to the same pipe

getpid, os_read, os_write, os_exit, dup2 = os.getpid, os.read, os.write, os._exit, os.dup2
encode_json, decode_json = json.dumps, json.loads
OWN_PID = getpid()


def keep(fd):
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_PRIVATE_FD)


REQUESTS, OUT, ERR = keep(0), keep(1), keep(2)
NOTHING = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)


def read_exactly(size):
    parts = []
    while size > 0:
        part = os_read(REQUESTS, min(size, 1 << 16))
        if not part:
            os_exit(0)  # the host has closed the context
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def read_request():
    return decode_json(read_exactly(int.from_bytes(read_exactly(4), "little")))


def write_all(fd, data):
    while data:
        try:
            data = data[os_write(fd, data):]
        except BlockingIOError:
            import select

            select.select([], [fd], [])


class Channel:
    """Messages to the host: frames in the output streams, each begun by the context's mark."""

    def __init__(self, mark, limits):
        self.mark = mark
        self.limits = limits
        self.results = 0
        self.lock = _thread.allocate_lock()

    def frame(self, fd, kind, payload):
        write_all(fd, self.mark + kind + len(payload).to_bytes(2, "little") + payload)

    def send(self, message):
        data = encode_json(message, ensure_ascii=False).encode("utf-8", "replace")
        if len(data) > self.limits["messageBytes"]:
            raise ValueError("too large")
        most = ATOMIC_BYTES - len(self.mark) - 3
        last = max(0, len(data) - 1) // most * most
        with self.lock:  # threads of the user's may show things too
            # An interrupt may stop this half way: the next message begins anew.
            for at in range(0, last, most):
                self.frame(OUT, b"M" if at else b"F", data[at:at + most])
            self.frame(OUT, b"L" if last else b"W", data[last:])

    def end(self, number, error):
        self.frame(ERR, b"S", str(number).encode())
        message = {"type": "end", "id": number}
        if error is not None:
            message["error"] = error
        try:
            self.send(message)
        except Exception:
            # The code broke what messages are made with.
            damaged = b'{"name":"KernelError","message":"the code damaged its interpreter; restart the context","traceback":""}'
            self.frame(OUT, b"W", b'{"type":"end","id":%d,"error":%s}' % (number, damaged))

    def result(self, kind, parts):
        self.results += 1
        if self.results > self.limits["results"]:
            return
        try:
            self.send({"type": "result", "kind": kind, **parts})
        except ValueError:
            self.send({"type": "result", "kind": kind, "text": parts["text"][:1000], "truncated": True})


def rich(value, name):
    """What the value's own method gives, or None."""
    method = getattr(type(value), name, None)
    if method is None:
        return None
    try:
        return method(value)
    except Exception:
        return None


def describe(value, limits):
    text = repr(value)
    parts = {"text": text[:limits["textChars"]]}
    if len(text) > limits["textChars"]:
        parts["truncated"] = True
    json_value = rich(value, "_repr_json_")
    if json_value is None and type(value) in (dict, list, tuple, str, int, float, bool):
        json_value = value
    if json_value is not None:
        try:
            parts["json"] = encode_json(json_value, allow_nan=False)
        except Exception:
            pass
    for key in ("html", "svg"):
        part = rich(value, f"_repr_{key}_")
        if isinstance(part, str):
            parts[key] = part
    png = rich(value, "_repr_png_")
    if isinstance(png, bytes):
        png = base64.b64encode(png).decode()
    if isinstance(png, str):
        parts["png"] = png
    for key in ("json", "html", "svg", "png"):
        if len(parts.get(key, "")) > limits["richChars"]:
            del parts[key]
            parts["truncated"] = True
    return parts


class Figure:
    """A matplotlib figure that the code left open."""

    def __init__(self, figure):
        self.figure = figure

    def __repr__(self):
        return repr(self.figure)

    def _repr_png_(self):
        data = io.BytesIO()
        self.figure.savefig(data, format="png", bbox_inches="tight")
        return data.getvalue()


class NoInput(io.TextIOBase):
    """The input of a run that was given none."""

    encoding = "utf-8"

    def fileno(self):
        return 0

    def readable(self):
        return True

    def refuse(self, *_):
        raise EOFError("this run was given no input; pass it as the run's stdin")

    read = readline = readlines = __next__ = refuse


def leave_out_kernel(report):
    """Takes the kernel's frames out of the error and of those that led to it."""
    waiting = [report]
    while waiting:
        part = waiting.pop()
        part.stack[:] = [frame for frame in part.stack if frame.filename != KERNEL_FILE]
        more = [part.__cause__, part.__context__, *(getattr(part, "exceptions", None) or ())]
        waiting += [other for other in more if other is not None]


def explain(error, file_names, limits):
    """The error as Python shows it, from the first line of the user's own code on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename not in file_names:
        trace = trace.tb_next
    report = traceback.TracebackException(type(error), error, trace)
    leave_out_kernel(report)
    text = "".join(report.format())
    most = limits["traceChars"]
    if len(text) > most:
        text = text[:most // 2] + "\n…\n" + text[-most // 2:]
    try:
        message = error.msg if isinstance(error, SyntaxError) else str(error)
    except Exception:
        message = "its message cannot be shown"
    name = type(error).__name__
    return {"name": name[:200], "message": str(message)[:most], "traceback": text}


class Kernel:
    def __init__(self):
        hello = read_request()
        self.limits = hello["limits"]
        self.channel = Channel(bytes.fromhex(hello["mark"]), self.limits)
        self.running = False
        self.seen = 0  # interrupts, since the start
        self.loop = None
        self.flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        self.file_names = set()
        self.main = types.ModuleType("__main__")
        self.main.__builtins__ = builtins
        self.names = vars(self.main)
        self.names["display"] = self.display
        sys.modules["__main__"] = self.main
        sys.argv = [""]
        sys.path[0] = ""
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
        sys.stderr.reconfigure(encoding="utf-8", line_buffering=True)
        os.environ.setdefault("MPLBACKEND", "agg")
        dup2(NOTHING, 0)
        self.streams = sys.stdout, sys.stderr
        self.no_input = sys.stdin = NoInput()
        signal.signal(signal.SIGINT, self.on_interrupt)
        self.channel.send({"type": "ready"})

    def on_interrupt(self, *_):
        self.seen += 1
        if self.running and getpid() == OWN_PID:
            self.channel.frame(OUT, b"A", b"")
        if self.running or getpid() != OWN_PID:
            raise KeyboardInterrupt

    def await_interrupts(self, expected):
        """Those that were sent before a request are not meant for it, however late they come."""
        for _ in range(1000):
            if self.seen >= expected:
                return
            sleep(0.001)
        self.seen = expected  # the code had them ignored

    def display(self, *values):
        """Shows values as rich results, at once."""
        for value in values:
            if getpid() == OWN_PID:
                self.flush()
                self.channel.result("display", describe(value, self.limits))

    def serve(self):
        while True:
            request = read_request()
            if "seed" in request:
                reseed(bytes.fromhex(request["seed"]))
                continue
            self.give_input(request.get("stdin"))
            error = self.run(request)
            if getpid() != OWN_PID:
                self.leave_child(error)
            self.channel.end(request["id"], error)

    def leave_child(self, error):
        """A forked child came back from the user's code: it is not the kernel and says nothing as one."""
        if error is not None:
            write_all(2, error["traceback"].encode("utf-8", "replace"))
        os_exit(0 if error is None else 1)

    def give_input(self, data):
        if data is None:
            if sys.stdin is not self.no_input:
                dup2(NOTHING, 0, True)
                sys.stdin = self.no_input
            return
        file = os.memfd_create("stdin")
        write_all(file, base64.b64decode(data))
        os.lseek(file, 0, os.SEEK_SET)
        dup2(file, 0, True)
        os.close(file)
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), "utf-8", "surrogateescape")

    def run(self, request):
        """Runs one piece of code; its error, or None. Interrupts reach it only where `running` is true."""
        self.channel.results = 0
        if signal.getsignal(signal.SIGINT) != self.on_interrupt:
            signal.signal(signal.SIGINT, self.on_interrupt)
        self.await_interrupts(request["interrupts"])
        try:
            try:
                self.running = True
                if self.seen > request["interrupts"]:  # it came just before
                    self.channel.frame(OUT, b"A", b"")
                    raise KeyboardInterrupt
                self.execute(request["code"], request["id"])
                self.flush()
            finally:
                self.running = False
        except BaseException as raised:
            self.running = False
            self.flush_quietly()
            try:
                return explain(raised, self.file_names, self.limits)
            except BaseException as second:
                return {"name": type(raised).__name__, "message": f"cannot be shown: {type(second).__name__}", "traceback": ""}
        return None

    def execute(self, code, number):
        name = f"<run {number}>"
        self.file_names.add(name)
        # As linecache reads files: without an end of the last line its marks would stand one column too far right.
        linecache.cache[name] = (len(code), None, (code + "\n").splitlines(True), name)
        tree = compile(code, name, "exec", self.flags | ast.PyCF_ONLY_AST)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        if tree.body:
            self.evaluate(compile(tree, name, "exec", self.flags))
        if last is not None:
            value = self.evaluate(compile(ast.Expression(last.value), name, "eval", self.flags))
            if value is not None:
                self.names["_"] = value
                self.flush()
                self.show(value)
        self.show_figures()

    def show(self, value):
        parts = describe(value, self.limits)
        if getpid() == OWN_PID:
            self.channel.result("value", parts)

    def evaluate(self, code):
        for flag in FUTURE_FLAGS:
            self.flags |= code.co_flags & flag
        value = eval(code, self.names)
        return self.wait_for(value) if code.co_flags & IS_COROUTINE else value

    def wait_for(self, coroutine):
        import asyncio

        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        task = self.loop.create_task(coroutine)
        try:
            return self.loop.run_until_complete(task)
        except KeyboardInterrupt:
            if not task.done():
                task.cancel()
                self.loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
            raise

    def show_figures(self):
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None or getpid() != OWN_PID:
            return
        for number in pyplot.get_fignums():
            self.channel.result("display", describe(Figure(pyplot.figure(number)), self.limits))
        pyplot.close("all")

    def flush(self, ignored=(AttributeError, ValueError), more=()):
        for stream in (sys.stdout, sys.stderr, *more):
            try:
                stream.flush()
            except ignored:
                pass  # the code has closed it, or put something else in its place

    def flush_quietly(self):
        self.flush(BaseException, self.streams)


def reseed(seed):
    """This process is a copy: chance must not fall alike in all. What the code put in these places is its own matter."""
    for name, how in {"random": (seed,), "numpy.random": (list(seed),), "ssl": (seed, 256.0)}.items():
        with contextlib.suppress(BaseException):
            getattr(sys.modules[name], "RAND_add" if name == "ssl" else "seed")(*how)
    with contextlib.suppress(BaseException):
        sys.modules["tempfile"]._name_sequence = None  # drawn anew at its next use
    with contextlib.suppress(BaseException):  # libuuid keeps the node of the original; one that is drawn has this bit
        vars(sys.modules["uuid"]).update(_generate_time_safe=None, _node=int.from_bytes(seed[:6], "big") | 1 << 40)


try:
    Kernel().serve()
except BaseException as failure:
    if getpid() == OWN_PID and isinstance(failure, OSError):
        os_exit(71)  # the code closed the kernel's own descriptors
    os_exit(70)
