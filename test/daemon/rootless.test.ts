import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findObstacle, OrdinaryUser } from "../ordinary-user.ts";
import { freePort, upTimeoutMs } from "./up.ts";

const obstacle = await findObstacle();

/** Starts a daemon, uses it, and takes it down; says what it saw. */
const script = `
set -e
caisson=$0/caisson
export CAISSON_PORT=$1 CAISSON_POOL_SIZE=0 CAISSON_ENGINE=container
$caisson up --detach >/dev/null
$caisson status --json
node -e '
const { readFileSync } = require("node:fs");
const base = "http://127.0.0.1:" + process.env.CAISSON_PORT + "/api/v1/sandboxes";
const headers = { "x-api-key": readFileSync(process.env.CAISSON_HOME + "/admin-key", "utf8").trim(), "content-type": "application/json" };
const call = async (path, method, body) => (await fetch(base + path, { method, headers, body })).text();
(async () => {
  const { id } = JSON.parse(await call("", "POST", "{}"));
  const { stdout } = JSON.parse(await call("/" + id + "/exec", "POST", JSON.stringify({ command: "echo seen" })));
  process.stderr.write(stdout);
  delete headers["content-type"];
  await call("/" + id, "DELETE");
})();
'
$caisson down
`;

/** The same with the host opened; what commands there say. */
const hostScript = `
set -e
caisson=$0/caisson
export CAISSON_PORT=$1 CAISSON_POOL_SIZE=0 CAISSON_HOST_ENABLED=true CAISSON_HOST_ALLOW='id -u'
$caisson up --detach >/dev/null
$caisson host exec 'id -u'
$caisson host exec id || echo refused
$caisson down
`;

/** Asks a tool of a `caisson mcp` that has no daemon. */
const stdioScript = `
const { spawn } = require("node:child_process");
const own = { CAISSON_HOST_ENABLED: "true", CAISSON_HOST_ALLOW: "id -u" };
const program = spawn(process.argv[1] + "/caisson", ["mcp", "--tools", "host"], { env: { ...process.env, ...own }, stdio: ["pipe", "pipe", "inherit"] });
const say = (message) => program.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
say({ id: 1, method: "initialize", params });
let text = "";
program.stdout.on("data", (chunk) => {
  text += chunk;
  for (const line of text.split("\\n").slice(0, -1)) {
    const { id, result } = JSON.parse(line);
    if (id === 2) console.log(result.structuredContent.stdout.trim()), program.stdin.end();
    else if (id === 1) say({ method: "notifications/initialized" }), say({ id: 2, method: "tools/call", params: { name: "host_exec", arguments: { command: "id -u" } } });
  }
  text = text.slice(text.lastIndexOf("\\n") + 1);
});
`;

describe.skipIf(obstacle !== undefined)("caisson up as an ordinary user", { timeout: upTimeoutMs }, () => {
  let user: OrdinaryUser;
  beforeAll(async () => {
    user = await OrdinaryUser.make();
  });
  afterAll(async () => {
    await user[Symbol.asyncDispose]();
  });

  it("[SBX-15] runs daemon and engine as that user, and leaves nothing", async () => {
    const seen = await user.run(["/bin/sh", "-c", script, user.checkout, String(await freePort())]);
    expect(seen.stderr).toBe("seen\n");
    expect(seen.exitCode).toBe(0);
    expect(JSON.parse(seen.stdout)).toMatchObject({
      ready: true,
      home: join(user.folder, "home/caisson"),
      daemon: { uid: user.id },
    });
    while (user.processes().length > 0) await sleep(20);
  });

  it("[HST-02] does things on the host as that user, once it has opened the host", async () => {
    const seen = await user.run(["/bin/sh", "-c", hostScript, user.checkout, String(await freePort())]);
    expect(seen.stdout).toBe(`${user.id}\nrefused\n`);
    expect(seen.stderr).toContain("no pattern allows it");
    expect(seen.exitCode).toBe(0);
    while (user.processes().length > 0) await sleep(20);
  });

  it("[HST-02] does so without a daemon too", async () => {
    const seen = await user.run(["node", "-e", stdioScript, user.checkout]);
    expect(seen.stderr).toBe("");
    expect(seen.stdout).toBe(`${user.id}\n`);
    while (user.processes().length > 0) await sleep(20);
  });
});
