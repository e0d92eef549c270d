// Tries to take ports every 2 ms, and prints what it is sent there.
const { createServer } = require("node:net");
const print = (line) => process.stdout.write(`${line}\n`);

function tryOnce(port) {
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.on("data", (bytes) => {
      print(`sent: ${JSON.stringify(bytes.toString("latin1"))}`);
      socket.end(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n[]",
      );
    });
  });
  server.on("error", () => setTimeout(tryOnce, 2, port));
  server.listen(port, "127.0.0.1", () => print("bound"));
}

print("trying");
for (const port of process.argv.slice(-2).map(Number)) tryOnce(port);
