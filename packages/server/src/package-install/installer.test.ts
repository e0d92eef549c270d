import { describe, expect, it } from "vitest";
import { AppError } from "../core/errors.ts";
import type { InstalledPackage } from "../core/package.ts";
import type { Workspace } from "./installer.ts";
import { packageLimits } from "./limits.ts";
import { npmInstaller } from "./npm-installer.ts";
import { pipInstaller } from "./pip-installer.ts";
import { readReport } from "./read-report.ts";

/** A workspace whose every file is this one. */
function workspace(content: string | AppError): Workspace {
  const files = {
    async *read(_: string, { length = 0 } = {}) {
      if (content instanceof AppError) throw content;
      yield Buffer.from(content).subarray(0, length);
    },
    remove: async () => undefined,
  };
  return { id: "box", files } as unknown as Workspace;
}

async function told(installer: typeof pipInstaller, content: string): Promise<InstalledPackage[]> {
  return (await installer.follow(workspace(content), { manager: "pip", packages: [] }))();
}
const row = (name: unknown, version: unknown, info: object) => ({ metadata: { name, version }, download_info: info });
const pip = (...rows: unknown[]) => told(pipInstaller, JSON.stringify({ install: rows }));

describe("an installation", () => {
  it("is a command as people write it, for policies about commands", () => {
    expect(pipInstaller.argv({ manager: "pip", packages: ["a==1", "b"] })).toEqual([
      "/.caisson/bin/install/pip",
      "install",
      "a==1",
      "b",
    ]);
    expect(npmInstaller.argv({ manager: "npm", packages: ["a@1"] }).slice(0, 3)).toEqual(["npm", "install", "a@1"]);
    expect(npmInstaller.argv({ manager: "npm", packages: [], lockfile: "package-lock.json" }).slice(0, 2)).toEqual([
      "npm",
      "ci",
    ]);
  });
});

describe("what a package manager tells from inside a sandbox", () => {
  it("[EXE-10] is name, version and hash", async () => {
    expect(
      await pip(
        row("a", "1.0", { archive_info: { hashes: { sha256: "00ff" } } }),
        row("b", "2", { archive_info: { hash: "sha256=11" } }),
        row("c", "3", { url: "file:///x" }),
      ),
    ).toEqual([
      { name: "a", version: "1.0", hash: "sha256:00ff" },
      { name: "b", version: "2", hash: "sha256:11" },
      { name: "c", version: "3", hash: null },
    ]);
  });

  it("is left out where it cannot be that", async () => {
    const long = "x".repeat(1_000);
    const bad = [
      null,
      7,
      "x",
      [],
      {},
      row(1, "1", {}),
      row("a", null, {}),
      row("a b", "1", {}),
      row("a\u001b[2J", "1", {}),
      row(long, "1", {}),
    ];
    expect(await pip(...bad, row("a", "1", { archive_info: { hashes: { sha256: long } } }))).toEqual([
      { name: "a", version: "1", hash: null },
    ]);
    for (const text of ["", "no JSON", "null", "[]", '{"install": {"length": 1e9}}', '{"install": 5}'])
      expect(await told(pipInstaller, text)).toEqual([]);
    for (const text of ['{"packages": 5}', '{"packages": [1]}', '{"packages": {"__proto__": {"version": "1"}}}', "7"])
      expect(await told(npmInstaller, text)).toEqual([]);
  });

  it("is bounded", async () => {
    const rows = Array.from({ length: packageLimits.installed + 9 }, (_, at) => row(`p${at}`, "1", {}));
    expect((await pip(...rows)).length).toBe(packageLimits.installed);
    const large = JSON.stringify({ x: "x".repeat(packageLimits.reportBytes) });
    expect(await readReport(workspace(large), "x")).toBeUndefined();
  });

  it("is nothing when there is no report, and an error when the sandbox is gone", async () => {
    expect(await readReport(workspace(new AppError("not_found", "no")), "x")).toBeUndefined();
    await expect(readReport(workspace(new AppError("unavailable", "gone")), "x")).rejects.toThrow("gone");
  });
});
