// Runs in a process of its own: the least that can take and give files over HTTP, in the folder that it is told.
import { createReadStream, createWriteStream } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";

const [folder = ""] = process.argv.slice(2);

const server = createServer((request, response) => {
  const path = join(folder, basename(request.url ?? ""));
  if (request.method === "GET") return void pipeline(createReadStream(path), response);
  pipeline(request, createWriteStream(path)).then(() => response.writeHead(204).end());
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
process.stdin.on("close", () => process.exit(0)).resume();
