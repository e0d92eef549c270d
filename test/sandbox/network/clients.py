"""Every way a Python program has to a host: what came of each, one line of JSON."""
import errno, http.client, json, os, socket, ssl, sys, urllib.error, urllib.request

allowed, denied, web, tls, echo, authority = sys.argv[1:7]
web, tls, echo = int(web), int(tls), int(echo)
trust = ssl.create_default_context(cafile=authority)


def told(error):
    if isinstance(error, urllib.error.HTTPError):
        return "HTTP %d %s" % (error.code, json.loads(error.read() or b"{}").get("code"))
    reason = getattr(error, "reason", error)
    if isinstance(reason, socket.gaierror):
        return "no such name"
    if isinstance(reason, OSError) and reason.errno:
        return errno.errorcode.get(reason.errno, str(reason))
    return "%s: %s" % (type(reason).__name__, reason)


def get(opener, url):
    with opener.open(url, timeout=60) as answer:
        return answer.read().decode()


def exchange(connection):
    with connection:
        connection.sendall(b"hello")
        connection.shutdown(socket.SHUT_WR)
        data = b""
        while chunk := connection.recv(65536):
            data += chunk
        return data.decode()


def socks(host, port):
    connection = socket.create_connection(("127.64.0.1", 1080), 60)
    connection.sendall(b"\5\1\0")
    assert connection.recv(2) == b"\5\0"
    connection.sendall(b"\5\1\0\3" + bytes([len(host)]) + host.encode() + port.to_bytes(2, "big"))
    reply = connection.recv(10)
    return exchange(connection) if reply[1] == 0 else "reply %d" % reply[1]


def tunnel(host, port):
    connection = http.client.HTTPSConnection("127.64.0.1", 3128, timeout=60, context=trust)
    connection.set_tunnel(host, port)
    connection.request("GET", "/tunnel")
    return connection.getresponse().read().decode()


https = urllib.request.HTTPSHandler(context=trust)
proxied = urllib.request.build_opener(https)
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}), https)

ways = {
    "urllib, by proxy": lambda host: get(proxied, "http://%s:%d/proxy" % (host, web)),
    "urllib, directly": lambda host: get(direct, "http://%s:%d/direct" % (host, web)),
    "https, by proxy": lambda host: get(proxied, "https://%s:%d/proxy" % (host, tls)),
    "https, directly": lambda host: get(direct, "https://%s:%d/direct" % (host, tls)),
    "CONNECT": lambda host: tunnel(host, tls),
    "SOCKS5": lambda host: socks(host, echo),
    "a raw connection": lambda host: exchange(socket.create_connection((host, echo), 60)),
    "IPv4 only": lambda host: socket.getaddrinfo(host, echo, socket.AF_INET, 0, 0, socket.AI_ADDRCONFIG)[0][4][0].split(".")[1],
}

try:
    import requests

    def request(host, port, scheme, **options):
        session = requests.Session()
        session.trust_env = options.pop("trust_env")
        answer = session.get("%s://%s:%d/requests" % (scheme, host, port), verify=authority, timeout=60)
        return answer.text if answer.status_code == 200 else "HTTP %d" % answer.status_code

    for trust_env in (True, False):
        for scheme, port in (("http", web), ("https", tls)):
            ways["requests %s %s" % (scheme, trust_env)] = (
                lambda host, port=port, scheme=scheme, trust_env=trust_env: request(host, port, scheme, trust_env=trust_env)
            )
except ImportError:
    pass

for name, way in ways.items():
    results = []
    for host in (allowed, denied):
        try:
            results.append(way(host))
        except Exception as error:
            results.append(told(error))
    print(json.dumps([name, *results]))
