# A program of a stranger's: pages, an echo, events one by one, a WebSocket echo, and headers that would act on its origin.
import base64, hashlib, socketserver, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class App(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def say(self, body, *headers, status=200, kind="text/html"):
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(body))), *headers):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        if self.path.startswith("/words"):
            self.send_response(218, "that is " + open("/workspace/value").read())
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if self.headers.get("Upgrade") == "websocket":
            return self.echo_frames()
        if self.path.startswith("/headers"):
            return self.say(str(self.headers).encode(), kind="text/plain")
        if self.path.startswith("/hostile"):
            return self.say(
                b"<script>document.title = 'ran'</script>",
                ("Set-Cookie", "session=stolen; Domain=localhost; Path=/"),
                ("Service-Worker-Allowed", "/"),
                ("Access-Control-Allow-Origin", "*"),
                ("Content-Security-Policy", "default-src * 'unsafe-inline'"),
            )
        if self.path.startswith("/secret"):
            return self.say(open("/workspace/value", "rb").read(), kind="text/plain")
        if self.path.startswith("/away"):
            return self.say(b"", ("Location", "/here?x=1"), status=302)
        if self.path.startswith("/events"):
            return self.tell()
        self.say(f"{self.command} {self.path}".encode(), kind="text/plain")

    do_HEAD = do_DELETE = do_GET

    def do_POST(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.say(hashlib.sha256(body).hexdigest().encode(), kind="text/plain")

    do_PUT = do_PATCH = do_POST

    # Each event waits for a file, so that a reader can tell that it came before the end.
    def tell(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for number in range(3):
            while number and not __import__("os").path.exists(f"/workspace/go-{number}"):
                time.sleep(0.005)
            self.wfile.write(f"data: {number}\n\n".encode())
            self.wfile.flush()
        self.close_connection = True

    def echo_frames(self):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        self.wfile.write(
            f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n".encode()
        )
        if self.path.startswith("/extensions"):
            offered = str(self.headers.get("Sec-WebSocket-Extensions")).encode()
            self.wfile.write(bytes([0x81, len(offered)]) + offered)
        if self.path.startswith("/split"):
            whole = open("/workspace/value", "rb").read()
            parts = (whole[:9], whole[9:])
            # A message of two frames with a ping between them.
            self.wfile.write(bytes([0x01, len(parts[0])]) + parts[0] + b"\x89\x02hi" + bytes([0x80, len(parts[1])]) + parts[1])
        while len(head := self.rfile.read(2)) == 2:
            if head[0] & 15 == 8:
                break
            mask = self.rfile.read(4)
            data = bytes(byte ^ mask[at % 4] for at, byte in enumerate(self.rfile.read(head[1] & 127)))
            self.wfile.write(bytes([0x81, len(data)]) + data)
        self.close_connection = True


server = ThreadingHTTPServer(("127.0.0.1", 8000), App)
print("listening", flush=True)
server.serve_forever()
