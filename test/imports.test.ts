import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const source = "packages/server/src";

const LOWEST = ["lib", "core"];
/** Everything in the rows before. */
const BELOW = "below";

/**
 * The layers of packages/server/src, the lowest first: folders, and files at the top, each with what it may import beside itself,
 * LOWEST and the limits of any folder. A row imports rows before it alone, so that there is no circle.
 */
const LAYERS: Record<string, readonly string[] | typeof BELOW> = {
  // What knows nothing of the product, and the nouns that all others share.
  lib: [],
  core: [],

  // Adapters and pure parts.
  config: [],
  dlp: [],
  engines: [],
  "http-over": [],
  identity: [],
  journal: [],
  "mcp-protocol": [],
  store: [],
  supervision: [],
  tar: [],
  vault: [],
  wire: [],
  egress: ["http-over"],
  registries: ["tar"],

  // Use cases. What one of them needs of another it is given, by an interface of core.
  approvals: [],
  "audit-export": [],
  "host-access": [],
  images: [],
  "package-install": [],
  sandboxes: ["dlp", "tar"],
  servers: ["http-over", "mcp-protocol", "tar"],
  gateway: ["http-over", "journal", "mcp-protocol"],
  templates: [],
  validation: [],
  web: [],
  webhooks: [],

  // Doors: the shapes of requests and results, what agents may call, and the ways in.
  schemas: ["audit-export", "egress", "journal"],
  tools: [
    "audit-export",
    "egress",
    "images",
    "journal",
    "package-install",
    "sandboxes",
    "schemas",
    "templates",
    "validation",
    "web",
  ],
  mcp: ["mcp-protocol", "tools", "validation"],
  // biome-ignore format: a list of words
  http: [
    "audit-export", "dlp", "egress", "gateway", "http-over", "identity", "images", "journal", "mcp", "package-install", "registries",
    "sandboxes", "schemas", "templates", "tools", "webhooks",
  ],

  // What puts them together.
  "caisson-parts.ts": ["egress"],
  // biome-ignore format: a list of words
  "app.ts": ["caisson-parts.ts", "config", "dlp", "egress", "engines", "journal", "sandboxes", "store", "supervision", "wire"],
  "index.ts": ["app.ts", "config", "sandboxes"],
  compose: BELOW,
  processes: BELOW,
  // Commands talk to a daemon by the SDK; what runs without one starts here.
  cli: [
    "app.ts",
    "audit-export",
    "compose",
    "config",
    "egress",
    "host-access",
    "processes",
    "sandboxes",
    "supervision",
    "tar",
  ],
};
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
  [`${source}/processes/host-access.ts`]: "a descriptor that leads to the daemon",
  [`${source}/http-over/request.ts`]: "a connection that it is given",
  [`${source}/supervision/control.ts`]: "the Unix socket of `caisson up`",
  [`${source}/wire/connection.ts`]: "the FIFOs of a sandbox",
};

/** Files beside `sandboxes` and the local command line that run something in a sandbox. */
const RUNNERS: Record<string, string> = {
  [`${source}/compose/layer-builder.ts`]: "layers are made in sandboxes of nobody",
  [`${source}/compose/run-script.ts`]: "steps of those layers",
  [`${source}/compose/server-sandboxes.ts`]:
    "the program of a hosted server, which its deployer named: no agent's command",
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
  [`${source}/cli/mcp/client-file.ts`]: "the configuration of the user's MCP client",
  [`${source}/lib/json-scan.ts`]: "one name, which is short",
  [`${source}/core/parse-json.ts`]: "measured in this file",
  [`${source}/core/strict-json.ts`]: "measured in this file",
  [`${source}/egress/inspection/authority-file.ts`]: ownData,
  [`${source}/engines/client.ts`]: "answers of the engine, which has more rights",
  [`${source}/engines/oci/kept-checkpoints.ts`]: ownData,
  [`${source}/engines/oci/layer-holds.ts`]: ownData,
  [`${source}/engines/oci/layer-record.ts`]: ownData,
  [`${source}/engines/oci/probe.ts`]: ownData,
  [`${source}/engines/oci/record.ts`]: ownData,
  [`${source}/host-access/hand-client.ts`]: "answers of the host's process",
  [`${source}/supervision/control.ts`]: "answers of `caisson up`",
  [`${source}/supervision/serve.ts`]: "the configuration from the parent process",
  [`${source}/supervision/supervised-process.ts`]: "one short message of a process that this one started",
  [`${source}/http/idempotency.ts`]: ownStore,
  [`${source}/http/json-body.ts`]: "measured in this file",
  [`${source}/identity/port-passes.ts`]: "signed by the daemon",
  [`${source}/identity/url-signer.ts`]: "signed by the daemon",
  [`${source}/sandboxes/fleet/sandbox-checkpoints.ts`]: ownStore,
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

  it("have a row for every folder and every file at the top, and no other", () => {
    const top = files.filter((file) => dirname(file) === source && !isTest(file)).map((file) => basename(file));
    expect(Object.keys(LAYERS).sort()).toEqual([...folders, ...top].sort());
  });

  it("are of rows before alone", () => {
    const rows = Object.keys(LAYERS);
    const upward = Object.entries(LAYERS).flatMap(([row, allowed]) =>
      allowed === BELOW ? [] : allowed.filter((other) => !rows.slice(0, rows.indexOf(row)).includes(other)),
    );
    expect(upward).toEqual([]);
  });

  it.each(Object.entries(LAYERS))("of %s reach only itself and %j", (row, allowed) => {
    const rows = Object.keys(LAYERS);
    const own = files.filter((file) => folderOf(file) === row);
    const reach = [...LOWEST, ...(allowed === BELOW ? rows.slice(0, rows.indexOf(row)) : allowed)];
    const strayed = imports.filter(
      ({ file, target }) =>
        own.includes(file) &&
        isOurs({ file, target }) &&
        ![row, ...(row === "lib" ? [] : reach)].includes(folderOf(target)) &&
        !(holdsLimits(target) && !LOWEST.includes(row)),
    );
    expect(own.length, `${row} holds no .ts file`).toBeGreaterThan(0);
    expect(strayed.map(show)).toEqual([]);
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
      /\bprocesses\.start\(|\bcontexts\.(create|shared)\(|\.executeCode\(|\bsandbox\.(exec|command)\(|\bcontext\.run\(|\bserveProgram\(/;
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
