/** Node's own modules as policy sees them. Data. */

const words = (text: string) => text.trim().split(/\s+/);

/** For code that computes and reads its workspace. */
export const approvedModules = new Set(
  words(`
    assert assert/strict buffer console constants crypto events fs fs/promises path path/posix perf_hooks punycode querystring
    readline readline/promises sqlite stream stream/consumers stream/promises string_decoder test timers timers/promises tty url
    util util/types zlib
  `),
);

const dangerousByReason: Record<string, string[]> = {
  "starts processes": words("child_process cluster worker_threads"),
  "runs code that a reader does not see": words("vm module repl wasi"),
  "reaches into the interpreter": words(
    "async_hooks diagnostics_channel inspector inspector/promises os process trace_events v8",
  ),
  "opens connections": words("dgram dns dns/promises http http2 https net tls"),
};

export const dangerousModules = new Map(
  Object.entries(dangerousByReason).flatMap(([reason, names]) => names.map((name) => [name, reason] as const)),
);

/** Modules that people use by their own name without an import. */
export const fixableModules = new Set(
  words(`
    assert buffer child_process cluster crypto dgram dns events fs http http2 https net os path perf_hooks querystring readline
    stream string_decoder timers tls tty url util v8 vm worker_threads zlib
  `),
);

/** What people call without its import. */
export const fixableNames = new Map(
  Object.entries({
    events: "EventEmitter once",
    fs: "appendFileSync createReadStream createWriteStream existsSync mkdirSync readFileSync readdirSync rmSync statSync unlinkSync writeFileSync",
    "fs/promises": "mkdtemp readFile readdir writeFile",
    child_process: "execFileSync execSync spawn spawnSync",
    crypto: "createHash createHmac randomBytes randomUUID",
    path: "basename dirname extname",
    readline: "createInterface",
    stream: "PassThrough Readable Transform Writable pipeline",
    url: "fileURLToPath pathToFileURL",
    util: "promisify",
    zlib: "gunzipSync gzipSync",
  }).flatMap(([module, names]) => names.split(" ").map((name) => [name, module] as const)),
);

/** What every module of CommonJS has beside the globals. */
export const moduleNames = new Set(
  words("require module exports __dirname __filename arguments undefined NaN Infinity"),
);
