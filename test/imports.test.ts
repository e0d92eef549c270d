import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const source = "packages/server/src";

// biome-ignore format: a list of words
const DOMAINS = [
  "approvals", "audit", "dlp", "egress", "engines", "gateway", "host", "host-access", "identity", "images", "journal",
  "metering", "oci", "packages", "sandboxes", "servers", "store", "tar", "templates", "validation", "vault", "web", "webhooks", "wire",
];
const LOWEST = ["lib", "core"];
const ADAPTERS = ["engines", "store", "wire"];
const USE_CASES = DOMAINS.filter((folder) => !ADAPTERS.includes(folder));

/** What each folder under packages/server/src may import beside itself: folders, or files at the top. */
const MAY_IMPORT: Record<string, string[]> = {
  lib: [],
  core: ["lib"],
  native: [],
  config: ["lib", "core"],
  ...Object.fromEntries(DOMAINS.map((folder) => [folder, ["lib", "core"]])),
  store: ["lib", "core", "native"],
  // HTTP/1.1 on a connection that is there already: one that was dialled, or the wire of a sandbox.
  "http-over": ["lib", "core"],
  egress: ["lib", "core", "http-over"],
  // Archives are read and written in one way.
  oci: ["lib", "core", "tar"],
  // Whatever leaves a sandbox is masked in one way.
  sandboxes: ["lib", "core", "dlp", "tar"],
  schemas: ["lib", "core", ...USE_CASES],
  // What any server of the protocol needs; it knows no tool.
  "mcp-protocol": ["lib", "core"],
  tools: ["lib", "core", "schemas", ...USE_CASES],
  http: ["lib", "core", "http-over", "mcp", "schemas", "tools", ...USE_CASES],
  mcp: ["lib", "core", "mcp-protocol", "schemas", "tools", ...USE_CASES],
  // All that processes are made of, in the order in which it is made; only processes import it.
  compose: [
    "lib",
    "core",
    "config",
    "app.ts",
    "caisson-parts.ts",
    "http",
    "http-over",
    "mcp",
    "mcp-protocol",
    "schemas",
    "tools",
    ...DOMAINS,
  ],
  cli: [
    "lib",
    "core",
    "config",
    "app.ts",
    "audit-file.ts",
    "stdio-service.ts",
    "stdio-start.ts",
    "up.ts",
    ...USE_CASES,
  ],
};
const TOP_FILES = [
  "app.ts",
  "audit-file.ts",
  "caisson-parts.ts",
  "daemon.ts",
  "engine-process.ts",
  "host-process.ts",
  "index.ts",
  "local-engines.ts",
  "local-host.ts",
  "stdio-service.ts",
  "stdio-start.ts",
  "up.ts",
];
const SDK_IMPORTERS = ["cli", "mcp"];

/** The one file that may start a process, and the one that may read the environment. */
const SPAWN_FILE = `${source}/engines/spawn.ts`;
const ENV_FILE = `${source}/config/env.ts`;

/** Files with sockets that lead nowhere outside this machine. */
const NO_WAY_OUT: Record<string, string> = {
  [`${source}/engines/client.ts`]: "the engine's Unix socket",
  [`${source}/egress/outbound-socket.ts`]: "connected by the dialer alone",
  [`${source}/engines/oci/watch.ts`]: "a descriptor of the helper's",
  [`${source}/host-access/hand-client.ts`]: "a descriptor that leads to the host's process",
  [`${source}/host-process.ts`]: "a descriptor that leads to the daemon",
  [`${source}/http-over/request.ts`]: "a connection that it is given",
  [`${source}/host/control.ts`]: "the Unix socket of `caisson up`",
  [`${source}/wire/connection.ts`]: "the FIFOs of a sandbox",
};

/** Files beside `sandboxes` and the local command line that run something in a sandbox. */
const RUNNERS: Record<string, string> = {
  [`${source}/compose/layer-builder.ts`]: "images are made for operators, in sandboxes of nobody",
  [`${source}/sandboxes/fleet/fleet.ts`]: "the value that was judged",
  [`${source}/tools/inspect-variables.ts`]: "a fixed text that lists names of variables",
};

/** Files that parse JSON whose shape is not measured first (S84), each with the reason. */
const ownData = "a file of the data folder";
const ownStore = "a value of the store";
const ownUser = "what the user of the command gave it";
const PARSERS: Record<string, string> = {
  [`${source}/cli/client/sessions.ts`]: ownUser,
  [`${source}/cli/client/tools.ts`]: ownUser,
  [`${source}/cli/client/verify.ts`]: ownUser,
  [`${source}/cli/mcp/install.ts`]: "the configuration of the user's MCP client",
  [`${source}/lib/json-scan.ts`]: "one name, which is short",
  [`${source}/core/parse-json.ts`]: "measured in this file",
  [`${source}/egress/inspection/authority-file.ts`]: ownData,
  [`${source}/engines/client.ts`]: "answers of the engine, which has more rights",
  [`${source}/engines/oci/kept-checkpoints.ts`]: ownData,
  [`${source}/engines/oci/layer-holds.ts`]: ownData,
  [`${source}/engines/oci/layer-record.ts`]: ownData,
  [`${source}/engines/oci/probe.ts`]: ownData,
  [`${source}/engines/oci/record.ts`]: ownData,
  [`${source}/host-access/hand-client.ts`]: "answers of the host's process",
  [`${source}/host/control.ts`]: "answers of `caisson up`",
  [`${source}/host/serve.ts`]: "the configuration from the parent process",
  [`${source}/host/service.ts`]: "one short message of a process that this one started",
  [`${source}/http/idempotency.ts`]: ownStore,
  [`${source}/http/json-body.ts`]: "measured in this file",
  [`${source}/identity/port-passes.ts`]: "signed by the daemon",
  [`${source}/identity/url-signer.ts`]: "signed by the daemon",
  [`${source}/sandboxes/fleet/checkpoint-desk.ts`]: ownStore,
  [`${source}/sandboxes/fleet/kept-seeds.ts`]: ownData,
  [`${source}/sandboxes/process-record.ts`]: ownData,
  [`${source}/store/audit/head-file.ts`]: ownData,
  [`${source}/store/audit/row-problem.ts`]: ownStore,
  [`${source}/store/audit/search.ts`]: ownStore,
  [`${source}/store/columns.ts`]: ownStore,
  [`${source}/store/run-log.ts`]: ownData,
  [`${source}/store/run-records.ts`]: ownStore,
  [`${source}/tools/bridge.ts`]: "part of a program for Node, not a call",
  [`${source}/validation/json.ts`]: "in a thread with a deadline and a heap of its own (S62)",
};

const BARRELS = ["packages/sdk/src/index.ts", `${source}/index.ts`];
const EMPTY_NAMES = /^(utils?|helpers?|managers?|common)$/;
const MAX_LINES = 400;
/** Longer files, each with its reason. */
const LONG_FILES: Record<string, string> = {};

interface Import {
  file: string;
  target: string;
}

/** Without comments, so that a sentence about process.env is not a use of it. */
function withoutComments(code: string): string {
  return code.replace(/^\s*\/\/.*$|^\s*\/\*[\s\S]*?\*\//gm, "");
}

/** The targets of import, export from, import() and require(). */
function findImports(code: string): string[] {
  const forms = [
    /(?:^|;)\s*(?:import|export)\s[^;"'`]*?\bfrom\s*["']([^"']+)["']/gm,
    /(?:^|;)\s*import\s*["']([^"']+)["']/gm,
    /\b(?:import|require|getBuiltinModule)\s*\(\s*["'`]([^"'`]+)["'`]/g,
  ];
  return forms.flatMap((form) => [...withoutComments(code).matchAll(form)].map((match) => match[1] ?? ""));
}

const read = (file: string) => readFileSync(join(root, file), "utf8");
const isTest = (file: string) => file.endsWith(".test.ts");
const folderOf = (file: string) => relative(source, file).split("/")[0] ?? "";
const filesUnder = (folder: string) => globSync(`${folder}/**/*.ts`, { cwd: root }).sort();

const files = filesUnder(source);
const folders = existsSync(join(root, source))
  ? readdirSync(join(root, source), { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [entry.name] : [],
    )
  : [];
const imports: Import[] = files.flatMap((file) =>
  findImports(read(file)).map((target) => ({
    file,
    target: target.startsWith(".") ? join(dirname(file), target) : target,
  })),
);
const isOurs = ({ target }: Import) => target.startsWith(`${source}/`);
/** Numbers lie beside their owner and know nothing but other numbers, so every folder above core may read them. */
const holdsLimits = (file: string): boolean =>
  /(^|[/-])limits\.ts$/.test(file) && imports.every((entry) => entry.file !== file || holdsLimits(entry.target));
const show = ({ file, target }: Import) => `${file} imports ${target}`;

/** The files a use was found in, tests left out: a test may start processes and set variables. */
function filesThat(uses: (code: string) => boolean): string[] {
  return files.filter((file) => !isTest(file) && uses(withoutComments(read(file))));
}

describe("imports of the server", () => {
  it("are found at all", () => {
    expect(files.length < 10 || imports.length > 0).toBe(true);
  });

  it("have a rule for every folder and every file at the top", () => {
    const top = files.filter((file) => dirname(file) === source && !isTest(file)).map((file) => basename(file));
    expect(folders.filter((folder) => !(folder in MAY_IMPORT))).toEqual([]);
    expect(top.filter((file) => !TOP_FILES.includes(file))).toEqual([]);
  });

  const present = Object.entries(MAY_IMPORT).filter(([folder]) => folders.includes(folder));
  it.each(present)("of %s reach only itself and %j", (folder, allowed) => {
    const own = files.filter((file) => folderOf(file) === folder);
    expect(own.length, `${folder} holds no .ts file`).toBeGreaterThan(0);
    const strayed = imports.filter(
      (entry) =>
        own.includes(entry.file) &&
        isOurs(entry) &&
        ![folder, ...allowed].includes(folderOf(entry.target)) &&
        !(holdsLimits(entry.target) && !LOWEST.includes(folder)),
    );
    expect(strayed.map(show)).toEqual([]);
  });

  it("of compose are those of processes", () => {
    const compose = imports.filter(
      ({ file, target }) => folderOf(target) === "compose" && folderOf(file) !== "compose",
    );
    const importers = new Set(compose.map(({ file }) => relative(source, file)));
    expect([...importers].sort()).toEqual(["daemon.ts", "stdio-service.ts", "up.ts"]);
  });

  it("of core are zod and core only, and the types of streams", () => {
    const isType = ({ file, target }: Import) =>
      target === "node:stream" && /^import type [^;]*"node:stream";$/m.test(read(file));
    const allowed = (entry: Import) =>
      isOurs(entry) ||
      isType(entry) ||
      /^zod(\/|$)/.test(entry.target) ||
      (isTest(entry.file) && /^(vitest|fast-check)$/.test(entry.target));
    expect(imports.filter((entry) => folderOf(entry.file) === "core" && !allowed(entry)).map(show)).toEqual([]);
  });

  it("stay inside the server, except that cli and mcp use the sdk", () => {
    const outside = imports.filter((entry) => entry.target.startsWith("packages/") && !isOurs(entry));
    const sdk = imports.filter((entry) => /^@caisson\/sdk(\/|$)/.test(entry.target));
    const strayed = sdk.filter((entry) => !isTest(entry.file) && !SDK_IMPORTERS.includes(folderOf(entry.file)));
    expect([...outside, ...strayed].map(show)).toEqual([]);
  });

  it("name files with their .ts extension", () => {
    const bare = imports.filter((entry) => isOurs(entry) && !/\.(ts|json)$/.test(entry.target));
    expect(bare.map(show)).toEqual([]);
  });
});

describe("danger has one door", () => {
  it("only the spawn file imports node:child_process", () => {
    const found = filesThat((code) => findImports(code).some((target) => /^(node:)?child_process$/.test(target)));
    expect(found).toEqual(folders.includes("engines") ? [SPAWN_FILE] : []);
  });

  it("no file loads native code", () => {
    expect(filesThat((code) => /\bdlopen\(|allowExtension|\.node["'`]/.test(code))).toEqual([]);
  });

  it("only the dialer can connect to the world and ask name servers", () => {
    const able =
      /import \{[^}]*(?<!type )\b(Socket|connect|createConnection|request|get)\b[^}]*\} from "node:(net|tls|http2?|https)"|from "node:(dns|dgram|https)|\bfetch\(/;
    expect(filesThat((code) => able.test(code)).filter((file) => !(file in NO_WAY_OUT))).toEqual(
      folders.includes("egress") ? [`${source}/egress/dialer.ts`] : [],
    );
  });

  it("[S106] only the fleet runs something in a daemon's sandbox, as policy judged it", () => {
    const runs =
      /\bprocesses\.start\(|\bcontexts\.(create|shared)\(|\.executeCode\(|\bsandbox\.(exec|command)\(|\bcontext\.run\(/;
    const isDoor = (file: string) => !/^(cli|sandboxes)\/(?!fleet\/)/.test(relative(source, file));
    expect(filesThat((code) => runs.test(code)).filter(isDoor)).toEqual(Object.keys(RUNNERS));
  });

  it("[S84] JSON from outside is parsed by the functions that measure its shape first", () => {
    const parses = filesThat((code) => /\bJSON\s*(\?\.|\.)\s*parse\b|\.json\(\)/.test(code));
    expect(parses).toEqual(Object.keys(PARSERS).sort());
  });

  it("only the env file reads process.env", () => {
    const reads =
      /\bprocess\s*(\?\.|\.)\s*env\b|\bprocess\s*\[|\{[^}]*\benv\b[^}]*\}\s*(=\s*process\b|from\s*["'](node:)?process["'])/;
    expect(filesThat((code) => reads.test(code))).toEqual(folders.includes("config") ? [ENV_FILE] : []);
  });
});

describe("files of the project", () => {
  const all = [
    ...filesUnder("packages/*/src"),
    ...filesUnder("test"),
    ...filesUnder("bench"),
    ...globSync(["native/**/*.{c,h,py,js,mjs}", "packages/*/src/**/*.{tsx,css}", "scripts/*"], { cwd: root }),
  ];

  it("are found at all", () => {
    expect(all).toContain("test/imports.test.ts");
    expect(all).toContain("scripts/bundle.mjs");
  });

  it("hold no barrel beside the public ones", () => {
    const barrels = all.filter((file) => /^index\.[cm]?[jt]sx?$/.test(basename(file)) && file.startsWith("packages/"));
    expect(barrels.filter((file) => !BARRELS.includes(file))).toEqual([]);
  });

  it("have names that say what they hold", () => {
    const named = all.filter((file) =>
      // native/helper is a program of that name, with its header.
      file
        .replace(/^native\/helper\/(helper\.h$)?/, "native/")
        .split("/")
        .some((part) => EMPTY_NAMES.test(part.replace(/\..*$/, ""))),
    );
    expect(named).toEqual([]);
  });

  it(`are at most ${MAX_LINES} lines long, unless listed with a reason`, () => {
    const long = all.filter((file) => read(file).split("\n").length - 1 > MAX_LINES);
    expect(long.sort()).toEqual(Object.keys(LONG_FILES).sort());
    expect(Object.values(LONG_FILES).filter((reason) => reason.length < 10)).toEqual([]);
  });
});

describe("the reader of imports", () => {
  it("sees every form and no comment", () => {
    const code = [
      'import { a } from "./a.ts"; import g from "g";',
      "import type {\n  B,\n} from './b.ts';",
      'import "./c.ts";',
      'export * from "./d.ts";',
      'const e = await import("./e.ts");',
      'const f = require("node:child_process");',
      '// import x from "./no.ts";',
      '/** \n * import y from "./no.ts";\n */',
    ].join("\n");
    expect(findImports(code).sort()).toEqual([
      "./a.ts",
      "./b.ts",
      "./c.ts",
      "./d.ts",
      "./e.ts",
      "g",
      "node:child_process",
    ]);
  });
});
