"""A terminal on the host for one program. Orders are JSON lines on stdin: {"type": TEXT}, {"size": [ROWS, COLUMNS]},
{"signal": NUMBER}, {"hangup": true}. What the program shows goes to stdout; at its end stderr gets {"code", "raw", "restored"}."""

import fcntl, json, os, select, struct, sys, termios

PLAIN = termios.ECHO | termios.ICANON | termios.ISIG


def set_size(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def start(slave):
    pid = os.fork()
    if pid == 0:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for fd in range(3):
            os.dup2(slave, fd)
        os.closerange(3, 64)
        os.execvp(sys.argv[1], sys.argv[1:])
    return pid


def obey(order, master, pid):
    if "type" in order:
        os.write(master, order["type"].encode("latin1"))
    if "size" in order:
        set_size(master, *order["size"])
    if "signal" in order:
        os.kill(pid, order["signal"])


def relay(master):
    """Whether there was anything."""
    if not select.select([master], [], [], 0)[0]:
        return False
    os.write(1, os.read(master, 65536))
    return True


master, slave = os.openpty()
set_size(master, 31, 101)
before = termios.tcgetattr(slave)
pid = start(slave)
orders, raw, done, hung_up = b"", False, 0, False
while not done and not hung_up:
    ready = select.select([0, master], [], [], 0.02)[0]
    if master in ready:
        relay(master)
        modes = termios.tcgetattr(slave)
        raw = raw or not (modes[3] & PLAIN or modes[1] & termios.OPOST)
    if 0 in ready:
        piece = os.read(0, 65536)
        if not piece:
            os.kill(pid, 9)
            break
        *lines, orders = (orders + piece).split(b"\n")
        for order in map(json.loads, lines):
            obey(order, master, pid)
            hung_up = "hangup" in order
    done, status = os.waitpid(pid, os.WNOHANG)
while not hung_up and relay(master):
    pass
restored = not hung_up and termios.tcgetattr(slave) == before
if hung_up:
    os.close(slave)
    os.close(master)
    status = os.waitpid(pid, 0)[1]
print(json.dumps({"code": os.waitstatus_to_exitcode(status), "raw": raw, "restored": restored}), file=sys.stderr)
