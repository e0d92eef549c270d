// Bundles the server into one file, .build/app/caisson.mjs: it loads in a fraction of the time that its sources take.
import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { build } from "esbuild";

const root = dirname(import.meta.dirname);

const { outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: {
    caisson: "packages/server/src/cli/main.ts",
    "sqlite-worker": "packages/server/src/store/sqlite-worker.ts",
  },
  outdir: ".build/app",
  outExtension: { ".js": ".mjs" },
  bundle: true,
  write: false,
  platform: "node",
  format: "esm",
  target: "node24",
  sourcemap: true,
  // CommonJS dependencies call require for Node's own modules.
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
  },
  legalComments: "none",
  logLevel: "warning",
}).catch(() => process.exit(1)); // esbuild has said why

await mkdir(join(root, ".build/app"), { recursive: true });
// By rename: a caisson that starts meanwhile reads the old bundle or the new one, never half of one.
for (const file of outputFiles) {
  await writeFile(`${file.path}.new`, file.contents);
  await rename(`${file.path}.new`, file.path);
}
