import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { root } from "../harness.ts";

it("[API-05] the SDK needs no package, and nothing that a browser lacks", async () => {
  const manifest = JSON.parse(await readFile(join(root, "packages/sdk/package.json"), "utf8"));
  expect(manifest).not.toHaveProperty("dependencies");
  const { outputFiles } = await build({
    entryPoints: [join(root, "packages/sdk/src/index.ts")],
    bundle: true,
    write: false,
    format: "esm",
    platform: "browser",
  });
  const code = outputFiles[0]?.text ?? "";
  expect(code).toMatch(/\bCaisson\b.*class/);
  expect(code.match(/\b(node:\w+|require\(|process\.|Buffer\b|setImmediate)/g)).toBeNull();
});
