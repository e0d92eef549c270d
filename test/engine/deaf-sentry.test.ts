import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HelperClient } from "../../packages/server/src/engines/oci/helper-client.ts";
import { helperPath } from "./fixture.ts";

/** Listens where gVisor's kernel would, has as many callers as it takes, and answers none. */
const deaf = `
import socket, sys
name = sys.argv[1]
server = socket.socket(socket.AF_UNIX)
server.bind(name)
server.listen(0)
callers = []
while True:
    caller = socket.socket(socket.AF_UNIX)
    caller.setblocking(False)
    try:
        caller.connect(name)
    except BlockingIOError:
        break
    callers.append(caller)
sys.stdout.write("full")
sys.stdout.flush()
sys.stdin.read()
`;

const ask = async (folder: string, id: string) => {
  await using helper = new HelperClient(helperPath, ["serve"], { onExit: () => undefined, onDeath: () => undefined });
  return await helper.request("checkpoint", [
    ["id", id],
    ["folder", folder],
    ["base", 0],
    ["memory", id],
    ["bytes", 1024],
    ["timeoutMs", 100],
  ]);
};

describe("whoever asks a sandbox's kernel for its memory", () => {
  const id = `deaf${randomBytes(6).toString("hex")}`;
  let folder = "";
  let listener: ReturnType<typeof listen> | undefined;
  const listen = (path: string) => spawn("python3", ["-c", deaf, path], { stdio: ["pipe", "pipe", "inherit"] });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "caisson-deaf-"));
    await mkdir(join(folder, "state"));
    listener = listen(join(folder, "state", `runsc-${id}.sock`));
    expect(String((await once(listener.stdout, "data"))[0])).toContain("full");
  });

  afterAll(async () => {
    listener?.kill();
    await rm(folder, { recursive: true, force: true });
  });

  it("[LIF-07] does not wait for one that takes no connections longer than it may", async () => {
    await expect(ask(folder, id)).rejects.toThrow("does not answer");
  });

  it("[S73] asks nobody through a link, or where a file lies in place of the socket", async () => {
    const state = join(folder, "state");
    await symlink(join(state, `runsc-${id}.sock`), join(state, "runsc-linked.sock"));
    await writeFile(join(state, "runsc-filed.sock"), "");
    await expect(ask(folder, "linked")).rejects.toThrow("something else");
    await expect(ask(folder, "filed")).rejects.toThrow("something else");
    await expect(ask(folder, "absent")).rejects.toThrow("has no socket");
  });
});
