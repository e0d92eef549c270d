// Makes the SDK as a package, in .build/sdk or the folder that is named: JavaScript and types in place of sources, which Node
// does not take below node_modules. `npm pack` makes a file of it.
import { execFileSync } from "node:child_process";
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const [folder = join(root, ".build/sdk")] = process.argv.slice(2);
await rm(join(folder, "dist"), { recursive: true, force: true });
await mkdir(folder, { recursive: true });
const tsc = join(root, "node_modules/.bin/tsc");
const options = ["-p", join(root, "packages/sdk"), "--outDir", join(folder, "dist")];
execFileSync(tsc, options, { stdio: "inherit" });

const {
  private: _,
  scripts: _scripts,
  exports,
  ...manifest
} = JSON.parse(await readFile(join(root, "packages/sdk/package.json"), "utf8"));
// Types are found beside what they are of.
const built = Object.entries(exports).map(([name, source]) => [
  name,
  source.replace(/^\.\/src\/(.*)\.ts$/, "./dist/$1.js"),
]);
const written = { ...manifest, exports: Object.fromEntries(built), files: ["dist"] };
await writeFile(join(folder, "package.json"), `${JSON.stringify(written, null, 2)}\n`);
await copyFile(join(root, "LICENSE"), join(folder, "LICENSE"));
