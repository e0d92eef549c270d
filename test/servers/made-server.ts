/** A small MCP server of Python's own library, over HTTP or standard streams. Its words say which version it is and how it behaves. */
export const madeServer = `
import json, os, pathlib, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

label, way, *flags = sys.argv[1:]
data = pathlib.Path("/data")


def tool(name, given):
    if name == "label":
        return label
    if name == "count":
        path = data / "count"
        count = int(path.read_text()) + 1 if path.exists() else 1
        (data / "count.new").write_text(str(count))
        (data / "count.new").rename(path)
        return str(count)
    if name == "list":
        return " ".join(sorted(p.name for p in data.iterdir()))
    if name == "env":
        return os.environ.get(given["name"], "")
    if name == "secret":
        path = pathlib.Path("/run/secrets") / given["name"]
        return path.read_text() if path.exists() else "none"
    if name == "sleep":
        time.sleep(given["seconds"])
        return "slept"
    if name == "write":
        (data / given["name"]).write_text(given["text"])
        return "written"
    if name == "fill":
        with open(data / "large", "wb") as file:
            while True:
                file.write(b"x" * 1048576)
    if name == "pid":
        return str(os.getpid())
    if name == "print":
        for at in range(given["lines"]):
            print("x" * given["width"], file=sys.stderr, flush=True)
        return "printed"
    if name == "exit":
        os._exit(given["code"])
    raise ValueError(name)


def answer(message):
    method = message["method"]
    if method == "initialize":
        if "--modern" in flags:
            return {"error": {"code": -32601, "message": "no initialize here"}}
        if "--no-version" in flags:
            return {"result": {}}
        return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": label, "version": "1"}}}
    if method == "server/discover" and "--modern" in flags:
        return {"result": {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}}
    if method == "tools/list":
        if "--many" in flags:
            return {"result": {"tools": [{"name": str(at)} for at in range(1001)]}}
        if "--endless" in flags:
            return {"result": {"tools": [], "nextCursor": "more"}}
        return {"result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("label", "count", "list")]}}
    if method == "tools/call":
        try:
            said = tool(message["params"]["name"], message["params"].get("arguments", {}))
            return {"result": {"content": [{"type": "text", "text": said}]}}
        except Exception as error:
            return {"result": {"isError": True, "content": [{"type": "text", "text": repr(error)}]}}
    return {"error": {"code": -32601, "message": "unknown method"}}


def full(message):
    return {"jsonrpc": "2.0", "id": message["id"], **answer(message)}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message = json.loads(body)
        if self.path != ("/" if "--root" in flags else "/mcp"):
            return self.reply(404, b"")
        if "id" not in message:
            return self.reply(202, b"")
        text = json.dumps(full(message)).encode()
        if "--events" in flags:
            return self.reply(200, b"event: message\\ndata: " + text + b"\\n\\n", "text/event-stream")
        self.reply(200, text)

    def reply(self, status, body, kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if "--migrate" in flags:
    (data / "migrated").write_text("by " + label)
if "--say" in flags:
    print("a line of", label, os.environ.get("SAY", ""), file=sys.stderr, flush=True)
if "--fail" in flags:
    print("cannot go on: the end", file=sys.stderr)
    sys.exit(3)
if "--leak" in flags:
    print("it is", pathlib.Path("/run/secrets/TOKEN").read_text(), file=sys.stderr, flush=True)
if "--fail-later" in flags and (data / "poison").exists():
    sys.exit(4)
if way == "http":
    port = int(flags[flags.index("--port") + 1]) if "--port" in flags else 8000
    ThreadingHTTPServer(("0.0.0.0", port), Handler).serve_forever()
if way == "file":
    import http.server
    ThreadingHTTPServer(("0.0.0.0", 8000), http.server.SimpleHTTPRequestHandler).serve_forever()
if "--flood" in flags:
    while True:
        print("x" * 1000000, flush=True)
if way == "mute":
    time.sleep(1000)
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        print(json.dumps(full(message)), flush=True)
`;
