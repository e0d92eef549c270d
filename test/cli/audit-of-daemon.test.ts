import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { freePort } from "../daemon/up.ts";
import { root } from "../harness.ts";
import { findLeaks } from "../leaks.ts";

let folder: string;
let port: number;

interface Outcome {
  code: unknown;
  stdout: string;
  stderr: string;
}

function caisson(args: string[], variables: Record<string, string> = {}): Promise<Outcome> {
  const own = { CAISSON_HOME: join(folder, "home"), CAISSON_PORT: String(port), CAISSON_POOL_SIZE: "0" };
  const env = { ...process.env, CAISSON_ENGINE: "container", ...own, ...variables };
  return new Promise((resolve) => {
    execFile(join(root, "caisson"), args, { env, cwd: folder }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    ).stdin?.end();
  });
}

/** What a command printed, which had to succeed. */
async function said(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await caisson(args);
  expect(`${code} ${stderr}`, args.join(" ")).toBe("0 ");
  return stdout.trim();
}

describe("caisson audit of a daemon that runs", () => {
  beforeAll(async () => {
    folder = await mkdtemp("/var/tmp/caisson-audit-daemon-");
    port = await freePort();
    await said("up", "--detach");
  });
  afterAll(async () => {
    await caisson(["down"]);
    await vi.waitFor(() => expect(findLeaks(join(folder, "home"))).toEqual([]), 20_000);
    await rm(folder, { recursive: true });
  });

  it("[CLI-01] [AUD-02] lists, exports and verifies the log of a daemon elsewhere, as far as its key goes", async () => {
    const id = await said("create");
    await said("rm", id);
    const keyOf = (namespace: string) =>
      said("keys", "create", "auditor", "--role", "operator", "--namespace", namespace);
    const nowhere = { CAISSON_URL: `http://127.0.0.1:${port}`, CAISSON_HOME: join(folder, "nowhere") };
    const own = { ...nowhere, CAISSON_API_KEY: await keyOf("default") };
    const other = { ...nowhere, CAISSON_API_KEY: await keyOf("other") };
    const words = ["--sandbox", id, "--type", "sandbox.destroyed"];
    const rows: object[] = JSON.parse((await caisson(["audit", "list", "--json", ...words], own)).stdout);
    expect(rows).toMatchObject([{ sandbox_id: id, namespace: "default" }]);
    expect(JSON.parse(await said("audit", "list", "--json", ...words))).toEqual(rows);
    const plain = await caisson(["audit", "list", ...words]);
    expect(await caisson(["audit", "list", ...words], own)).toEqual(plain);
    expect(JSON.parse((await caisson(["audit", "export", ...words], own)).stdout)).toEqual(rows[0]);
    expect(await caisson(["audit", "list", ...words], other)).toEqual({ code: 0, stdout: "", stderr: "" });
    expect((await caisson(["audit", "list", "--all-namespaces"], other)).stderr).toContain("only administrators");
    expect(await said("audit", "list", "--namespace", "other", ...words)).toBe("");
    const many = await caisson(["audit", "list", "--limit", "3", "--json"], own);
    expect(JSON.parse(many.stdout)).toHaveLength(3);
    expect(await caisson(["audit", "verify"], own)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("is whole"),
    });
    expect(await caisson(["audit", "verify", "--expect", `1:${"0".repeat(64)}`], own)).toMatchObject({ code: 2 });
    const dead = { CAISSON_URL: "http://127.0.0.1:9" };
    expect((await caisson(["audit", "verify"], dead)).stderr).toContain("cannot reach");
    const unnamed = await caisson(["audit", "verify", "--expect", `1:${"0".repeat(64)}`], { CAISSON_URL: "" });
    expect(unnamed.stderr).not.toContain("apply to files only");
    const file = join(folder, "home/daemon/caisson.db");
    expect((await caisson(["audit", "list", "--limit", "1", "--file", file], dead)).code).toBe(0);
  });
});
