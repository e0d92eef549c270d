import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { expect, it } from "vitest";
import { HelperClient } from "../../packages/server/src/engines/oci/helper-client.ts";
import { helperPath } from "./fixture.ts";

/** Listens where gVisor's kernel would, has as many callers as it takes, and answers none. */
const deaf = `
import socket, sys
name = "\\0runsc-sandbox." + sys.argv[1] + "\\0"
server = socket.socket(socket.AF_UNIX)
server.bind(name.encode())
server.listen(0)
callers = []
while True:
    caller = socket.socket(socket.AF_UNIX)
    caller.setblocking(False)
    try:
        caller.connect(name.encode())
    except BlockingIOError:
        break
    callers.append(caller)
sys.stdout.write("full")
sys.stdout.flush()
sys.stdin.read()
`;

it("[LIF-07] the helper does not wait for a kernel that takes no connections longer than it may", async () => {
  const id = `deaf${randomBytes(6).toString("hex")}`;
  const listener = spawn("python3", ["-c", deaf, id], { stdio: ["pipe", "pipe", "inherit"] });
  try {
    expect(String((await once(listener.stdout, "data"))[0])).toContain("full");
    await using helper = new HelperClient(helperPath, ["serve"], { onExit: () => undefined, onDeath: () => undefined });
    const asked = helper.request("checkpoint", [
      ["id", id],
      ["base", 0],
      ["memory", id],
      ["bytes", 1024],
      ["timeoutMs", 100],
    ]);
    await expect(asked).rejects.toThrow("does not answer");
  } finally {
    listener.kill();
  }
});
