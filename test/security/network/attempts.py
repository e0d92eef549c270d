"""Makes the attempts that come as JSON, all at once, and prints what became of each. The same in a sandbox and outside."""
import json, os, resource, socket, ssl, struct, sys, threading, urllib.request

SECONDS = 20
gate = "127.64.0.1"
trust = ssl.create_default_context()
trust.check_hostname = False
trust.verify_mode = ssl.CERT_NONE


def read(connection):
    data = b""
    while len(data) < 65536 and (chunk := connection.recv(65536)):
        data += chunk
        if data.startswith(b"HTTP/1.") and b"\r\n\r\n" in data:
            break
    return data.decode("latin1")


def say(connection, text):
    with connection:
        connection.sendall(text.encode("latin1"))
        return read(connection)


def opened(address, port):
    return socket.create_connection((address, port), SECONDS)


def tcp(address, port, text):
    return say(opened(address, port), text)


def udp(address, port, text):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        sender.settimeout(SECONDS)
        sender.connect((address, port))
        sender.send(text.encode("latin1"))
        return sender.recv(4096).decode("latin1")


def icmp(address):
    def echo(kind):
        packet = struct.pack("!BBHHH", 8, 0, 0, 7, 7)
        packet = packet[:2] + struct.pack("!H", 0xFFFF - sum(struct.unpack("!4H", packet)) % 0xFFFF) + packet[4:]
        with socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP) as sender:
            sender.settimeout(SECONDS)
            sender.sendto(packet, (address, 0))
            return "GAINED an answer of %s" % sender.recvfrom(512)[1][0]

    try:
        return echo(socket.SOCK_RAW)
    except OSError:
        return echo(socket.SOCK_DGRAM)


def proxy(text):
    return say(opened(gate, 3128), text)


def secure(connection, name, text):
    return say(trust.wrap_socket(connection, server_hostname=name), text)


def tunnel(authority, name, text):
    connection = opened(gate, 3128)
    connection.sendall(b"CONNECT %s HTTP/1.1\r\n\r\n" % authority.encode())
    answer = read(connection)
    if " 200 " not in answer.split("\r\n")[0]:
        return answer
    return say(connection, text) if name == "" else secure(connection, name, text)


def direct(host, port, name, text):
    connection = opened(host, port)
    return say(connection, text) if name == "" else secure(connection, name, text)


def socks(kind, address, port, text):
    connection = opened(gate, 1080)
    connection.sendall(b"\5\1\0")
    connection.recv(2)
    family = {1: socket.AF_INET, 4: socket.AF_INET6}.get(kind)
    name = address.encode("latin1")
    packed = bytes([len(name)]) + name if family is None else socket.inet_pton(family, address)
    connection.sendall(bytes([5, 1, 0, kind]) + packed + struct.pack("!H", port))
    reply = connection.recv(10)
    return say(connection, text) if reply[1:2] == b"\0" else "reply %r" % reply


def follow(url):
    with urllib.request.urlopen(url, timeout=SECONDS) as answer:
        return answer.read().decode("latin1")


def question(name, kind):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return b"\0\7\1\0\0\1\0\0\0\0\0\0" + labels + b"\0" + struct.pack("!HH", kind, 1)


def ask(address, port, name, kind):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.settimeout(SECONDS)
        sender.connect((address, port))
        sender.send(question(name, kind))
        return "code %d" % (sender.recv(4096)[3] & 15)


taking = threading.Lock()


def bind(kind, address, port, *options):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with taking, socket.socket(family, getattr(socket, kind)) as taker:
        for option in options:
            value = b"lo" if option == "SO_BINDTODEVICE" else 1
            taker.setsockopt(socket.SOL_SOCKET, getattr(socket, option), value)
        taker.bind((address, port))
        if kind == "SOCK_STREAM":
            taker.listen()
        return "GAINED %s port %d" % (address, port)


def garbage(count):
    """Noise for the resolver and the proxies, which still answer afterwards."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for number in range(count):
            sender.sendto(os.urandom(number % 600), (gate, 53))
            sender.sendto(question("allowed.example", 1)[: number % 33] + os.urandom(number % 40), (gate, 53))
    for port in (53, 1080, 3128):
        for number in range(count // 20):
            try:
                with opened(gate, port) as connection:
                    connection.sendall(os.urandom(1 + number * 40))
            except OSError:
                pass  # broken off in the middle
    return "done"


def flood(count):
    """Connections to the proxy that say half of a request, or nothing, as many as there can be at once."""
    held = []
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        for number in range(count):
            connection = socket.socket()
            connection.setblocking(False)
            connection.connect_ex((gate, (3128, 1080, 53)[number % 3]))
            held.append(connection)
            try:
                connection.send(b"GET http://allowed.example/ HTTP/1.1\r\nHost:" if number % 2 else b"\5")
            except OSError:
                pass
    except OSError:
        pass
    print("holds", flush=True)
    sys.stdin.readline()
    return "held %d" % len(held)


def attempt(one, results):
    act, *words = one["act"]
    try:
        results[one["id"]] = str(globals()[act](*words))
    except Exception as error:
        results[one["id"]] = "%s: %s" % (type(error).__name__, error)


results = {}
threads = [threading.Thread(target=attempt, args=(one, results)) for one in json.loads(sys.stdin.readline())]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(results))
