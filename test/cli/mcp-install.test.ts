import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { root } from "../harness.ts";

const clients = [
  ["claude-desktop", ".config/Claude/claude_desktop_config.json", "mcpServers", {}],
  ["claude-code", ".claude.json", "mcpServers", { type: "stdio" }],
  ["cursor", ".cursor/mcp.json", "mcpServers", {}],
  ["vscode", ".config/Code/User/mcp.json", "servers", { type: "stdio" }],
] as const;
const command = join(root, "caisson");

describe("caisson mcp install", () => {
  let home: string;
  beforeAll(async () => {
    home = await mkdtemp("/var/tmp/caisson-install-");
  });
  afterAll(() => rm(home, { recursive: true }));
  beforeEach(async () => {
    await rm(home, { recursive: true });
    await mkdir(home);
  });

  const install = (...args: string[]) =>
    new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
      const env = { PATH: process.env.PATH, HOME: home };
      execFile(command, ["mcp", "install", ...args], { env }, (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, stdout, stderr }),
      );
    });
  const read = async (file: string) => JSON.parse(await readFile(join(home, file), "utf8"));
  const write = async (file: string, text: string, mode = 0o640) => {
    await mkdir(dirname(join(home, file)), { recursive: true });
    await writeFile(join(home, file), text, { mode });
  };

  describe.each(clients)("%s", (client, file, key, typed) => {
    const entry = { ...typed, command, args: ["mcp"] };

    it("[MCP-09] makes the configuration where there is none, for its user alone", async () => {
      expect(await install(client)).toMatchObject({ code: 0, stderr: "" });
      expect(await read(file)).toEqual({ [key]: { caisson: entry } });
      expect((await stat(join(home, file))).mode & 0o777).toBe(0o600);
    });

    it("[MCP-09] keeps what is there, and a copy of what was", async () => {
      const before = { theme: "dark", [key]: { other: { command: "x" }, caisson: { command: "old" } } };
      await write(file, JSON.stringify(before));
      expect(await install("--tools", "core,files", client)).toMatchObject({ code: 0, stderr: "" });
      const now = { ...entry, args: ["mcp", "--tools", "core,files"] };
      expect(await read(file)).toEqual({ theme: "dark", [key]: { other: { command: "x" }, caisson: now } });
      expect(await read(`${file}.before-caisson`)).toEqual(before);
      expect((await stat(join(home, file))).mode & 0o777).toBe(0o640);
      expect((await install(client, "--tools", "core,files")).stdout).toContain("already");
    });

    it("[MCP-09] prints what it would write, and writes nothing", async () => {
      const { stdout } = await install(client, "--print");
      expect(JSON.parse(stdout)).toEqual({ [key]: { caisson: entry } });
      await expect(stat(join(home, file))).rejects.toThrow("ENOENT");
    });
  });

  it.each([
    ["is not JSON", '{ "mcpServers": { // mine\n } }'],
    ["holds no object", "[1]"],
    ["has servers that are none", '{ "mcpServers": [] }'],
  ])("leaves a configuration alone that %s, and says so", async (_, text) => {
    await write(".cursor/mcp.json", text);
    const { code, stderr } = await install("cursor");
    expect(code).not.toBe(0);
    expect(stderr).toContain("--print");
    expect(await readFile(join(home, ".cursor/mcp.json"), "utf8")).toBe(text);
  });

  it("writes through a link, which stays one", async () => {
    await write("dotfiles/mcp.json", "{}");
    await mkdir(join(home, ".cursor"));
    await symlink(join(home, "dotfiles/mcp.json"), join(home, ".cursor/mcp.json"));
    expect((await install("cursor")).code).toBe(0);
    expect(await read("dotfiles/mcp.json")).toHaveProperty("mcpServers.caisson");
  });

  it("refuses a client that it does not know", async () => {
    expect(await install("emacs")).toMatchObject({ code: 2, stderr: expect.stringContaining("claude-desktop") });
  });
});
