import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Daemon } from "../daemon.ts";
import { summarize, timeMs } from "../stats.ts";
import { engines, type Workbench } from "../workbench.ts";

const name = "page.example";
const page = `<!doctype html><title>A page</title><script>
document.write("<h1>Made</h1>" + "<p>Some words in a paragraph.</p>".repeat(200));
</script>`;

interface Image {
  state: string;
  step: string | null;
  error: string | null;
}

/** browser_fetch with a picture, in the image of the catalogue, of a page that a script makes; each begins in an empty sandbox. */
export async function browser(bench: Workbench): Promise<void> {
  const home = join(bench.home, "browser");
  await importImage(home);
  const host = createServer((_, response) => response.setHeader("content-type", "text/html").end(page));
  await once(host.listen(0, "127.0.0.1"), "listening");
  const names = await answerNames();
  const { port } = host.address() as AddressInfo;
  try {
    for (const engine of engines) {
      const settings = { CAISSON_NETWORK_DNS_SERVERS: `127.0.0.1:${names.address().port}` };
      await using daemon = await Daemon.start({ home, engine, poolSize: 0, settings });
      const { rest } = daemon;
      const rule = { host: name, port, protocol: "http", ranges: ["127.0.0.0/8"] };
      await rest.call("PUT", "/api/v1/egress/policy", { allow: [rule] });
      const open = () => rest.post("/api/v1/tools/browser_fetch", { url: `http://${name}:${port}/`, screenshot: true });
      await open();
      const samples: number[] = [];
      for (let round = 0; round < (bench.options.quick ? 3 : 10); round++) samples.push(await timeMs(open));
      const notes = ["by REST, on 2 CPUs; the sandbox is emptied and the browser started for each"];
      bench.add({ engine, what: "browser_fetch with a picture", unit: "ms", ours: summarize(samples), notes });
    }
  } finally {
    names.close();
    host.close();
  }
}

/** With this machine's own registries and names. */
async function importImage(home: string): Promise<void> {
  await using daemon = await Daemon.start({ home, engine: "container", poolSize: 0 });
  const { rest } = daemon;
  const { id } = await rest.post<{ id: string }>("/api/v1/images", { catalogue: "browser" });
  for (;;) {
    const { state, step, error } = await rest.get<Image>(`/api/v1/images/${id}`);
    if (state === "ready") return;
    if (state === "failed") throw new Error(`${step}: ${error}`);
    await sleep(100);
  }
}

/** Every name is at 127.0.0.1 (RFC 1035). */
async function answerNames() {
  const socket = createSocket("udp4");
  socket.on("message", (question, { address, port }) => {
    const end = question.indexOf(0, 12) + 5;
    const isAddress = question.readUInt16BE(end - 4) === 1;
    const head = Buffer.from([question[0] ?? 0, question[1] ?? 0, 0x81, 0x80, 0, 1, 0, isAddress ? 1 : 0, 0, 0, 0, 0]);
    const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
    socket.send(Buffer.concat([head, question.subarray(12, end), ...(isAddress ? [answer] : [])]), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return socket;
}
