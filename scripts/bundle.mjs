// Bundles the server into .build/app, a file for each program and what they share in chunks: it loads in a fraction of the
// time that its sources take, and no program loads what only another needs.
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { build } from "esbuild";

const root = dirname(import.meta.dirname);

// Whoever imports node:http has Node read all its exports, of which some load fetch and all it needs: a good part of every start.
const leanHttp = {
  name: "lean http",
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^node:http$/ }, ({ path, kind }) =>
      kind === "import-statement" ? { path, namespace: "builtin" } : undefined,
    );
    onLoad({ filter: /./, namespace: "builtin" }, ({ path }) => {
      const exported = Object.entries(Object.getOwnPropertyDescriptors(process.getBuiltinModule(path)));
      const names = exported.flatMap(([name, { get }]) => (get === undefined ? [name] : []));
      const contents = `const http = process.getBuiltinModule("${path}");
        export default http;
        export const { ${names.join(", ")} } = http;`;
      return { contents };
    });
  },
};

const { outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: {
    caisson: "packages/server/src/cli/main.ts",
    daemon: "packages/server/src/processes/daemon.ts",
    engine: "packages/server/src/processes/engine.ts",
    host: "packages/server/src/processes/host-access.ts",
    "sqlite-worker": "packages/server/src/store/sqlite-worker.ts",
    "validation-worker": "packages/server/src/validation/validation-worker.ts",
    "reader-worker": "packages/server/src/web/reader-worker.ts",
  },
  splitting: true,
  chunkNames: "chunk-[hash]",
  outdir: ".build/app",
  outExtension: { ".js": ".mjs" },
  bundle: true,
  write: false,
  platform: "node",
  format: "esm",
  target: "node24",
  sourcemap: true,
  minifyWhitespace: true, // V8 keeps the sources of all that is loaded, comments too
  lineLimit: 200, // a stack names lines
  plugins: [
    leanHttp,
    {
      name: "english",
      setup: ({ onLoad }) => onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({ contents: "" })),
    },
  ],
  // CommonJS dependencies call require for Node's own modules, and look for their files beside them.
  banner: {
    js: [
      'import { createRequire as __createRequire } from "node:module";',
      "const require = __createRequire(import.meta.url), __dirname = import.meta.dirname;",
    ].join(" "),
  },
  legalComments: "none",
  logLevel: "warning",
}).catch(() => process.exit(1)); // esbuild has said why

const folder = join(root, ".build/app");
await mkdir(folder, { recursive: true });
const ruff = "ruff_wasm_bg.wasm";
const packages = createRequire(join(root, "packages/server/package.json"));
const ruffPath = join(dirname(packages.resolve("@astral-sh/ruff-wasm-nodejs")), ruff);
outputFiles.push({ path: join(folder, ruff), contents: await readFile(ruffPath) });

// By rename, and what others load first: a caisson that starts meanwhile reads the old bundle or the new one, never half of one.
const isChunk = (path) => basename(path).startsWith("chunk-");
const isLoaded = ({ path }) => Number(isChunk(path) || !path.endsWith(".mjs"));
for (const file of outputFiles.toSorted((left, right) => isLoaded(right) - isLoaded(left))) {
  await writeFile(`${file.path}.new`, file.contents);
  await rename(`${file.path}.new`, file.path);
}

// One that was started from the old bundle may still load a chunk of it.
const old = Date.now() - 3_600_000;
const current = new Set(outputFiles.map(({ path }) => basename(path)));
for (const name of await readdir(folder)) {
  const path = join(folder, name);
  if (!current.has(name) && isChunk(name) && (await stat(path)).mtimeMs < old) await rm(path, { force: true });
}
