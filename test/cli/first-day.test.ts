import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { caisson, Up, upTimeoutMs } from "../daemon/up.ts";
import { root } from "../harness.ts";
import { findLeaks } from "../leaks.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp("/var/tmp/caisson-first-day-");
});
afterAll(() => rm(folder, { recursive: true }));

describe("caisson run", () => {
  it("[SBX-06] an input folder that holds credentials needs a flag where nobody can be asked", async () => {
    await mkdir(join(folder, "home-like/.ssh"), { recursive: true });
    await writeFile(join(folder, "home-like/.ssh/id"), "key");
    await writeFile(join(folder, "list.sh"), "ls -a input");
    const run = (input: string, ...options: string[]) =>
      caisson(["run", "--engine", "container", "--input", join(folder, input), ...options, join(folder, "list.sh")], {
        CAISSON_HOME: join(folder, "home"),
      });
    const refused = await run("home-like");
    expect(refused).toMatchObject({ code: 125, stdout: "" });
    expect(refused.stderr).toMatch(/contains credentials \(\.ssh\)\n.*--allow-credentials/);
    expect(await run("home-like/.ssh")).toMatchObject({ code: 125, stdout: "" });
    expect(await run("home-like", "--allow-credentials")).toMatchObject({ code: 0, stdout: ".\n..\n.ssh\n" });
    expect(findLeaks(join(folder, "home"))).toEqual([]);
  });
});

describe("README.md", { timeout: upTimeoutMs }, () => {
  it("[CLI-01] copies a file and runs it by the line that it prints", async () => {
    await using up = await Up.start();
    const id = await up.create("container");
    const readme = await readFile(join(root, "README.md"), "utf8");
    const line = /^\.\/caisson cp .*?(?= {2,}#)/m.exec(readme)?.[0].replaceAll("ID", id) ?? "";
    await writeFile(join(folder, "analyse.py"), "print('analysed')");
    const env = { ...process.env, ...up.variables };
    const command = line.replaceAll("./caisson", join(root, "caisson"));
    const { stdout } = await promisify(execFile)("/bin/sh", ["-c", command], { cwd: folder, env });
    expect(stdout).toBe("analysed\n");
    await up.delete(`/api/v1/sandboxes/${id}`);
  });
});

describe("caisson --help", () => {
  it("[CLI-03] begins with ten commands for a first day, and knows no others than there are", async () => {
    const { stdout } = await caisson(["--help"], {});
    const first = /Getting started:\n\n([\s\S]*?)\n\n/.exec(stdout)?.[1]?.split("\n") ?? [];
    expect(first).toHaveLength(10);
    for (const line of first) expect(line).toMatch(/^ {2}caisson (run|shell|doctor|up|create|ls|cp|exec|rm|mcp) /);
    expect(stdout.indexOf("Getting started")).toBeLessThan(200);
    for (const words of [["nosuch"], ["keys", "nosuch"]]) {
      const unknown = await caisson(["help", ...words], {});
      expect(unknown).toMatchObject({ code: 2, stdout: "" });
      expect(unknown.stderr).toContain(`unknown command '${words.join(" ")}'`);
    }
  });
});
