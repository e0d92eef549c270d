// Puts so many bytes to a URL, gets them back, and prints the hashes of both: a client in a process of its own.
import { createHash } from "node:crypto";
import { Readable } from "node:stream";

const [url, key, size] = process.argv.slice(2);
const piece = Buffer.alloc(65_536, "0123456789abcdef");

function* pieces(left) {
  for (; left > 0; left -= piece.length) yield left < piece.length ? piece.subarray(0, left) : piece;
}

const sent = createHash("sha256");
async function* hashed() {
  for (const one of pieces(Number(size))) {
    sent.update(one);
    yield one;
  }
}

const headers = { "x-api-key": key };
const put = await fetch(url, { method: "PUT", headers, body: Readable.from(hashed()), duplex: "half" });
const got = await fetch(url, { headers });
const received = createHash("sha256");
for await (const chunk of got.body) received.update(chunk);
console.log(
  JSON.stringify({ put: put.status, get: got.status, sent: sent.digest("hex"), received: received.digest("hex") }),
);
