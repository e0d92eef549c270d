/**
 * The lines that the seed documents print, with what shows that they hold here. `printed` is the document's own text with our
 * program's name; docs/seeds.md has those that differ or wait, and the counts.
 */

export interface CommandLine {
  printed: string;
  /** Replaces parts that the document leaves open: a path, an id. */
  as?: readonly [string, string];
  /** Matches what the command prints on both streams. */
  prints?: RegExp;
  code?: number;
}

/** S2's command line, in an order that works from an empty data folder. */
export const commandLines: readonly CommandLine[] = [
  { printed: "caisson serve --transport sse --port 8080", code: 2, prints: /caisson serve --transport http/ },
  { printed: "caisson run script.py", prints: /^hello sandbox$/m },
  { printed: "caisson run app.js --language node --timeout 120", prints: /^4$/m },
  { printed: "caisson run deploy.sh --backend docker", prints: /^deployed$/m },
  { printed: "caisson queue status", prints: /WAITING/ },
  { printed: "caisson session list", prints: /default/ },
  { printed: "caisson session kill --id <session_id>", as: ["<session_id>", "to-kill"] },
  { printed: "caisson config", prints: /^engine +\w+/m },
  { printed: "caisson vault add MY_KEY my_value --namespace prod", prints: /MY_KEY: version 1/ },
  { printed: "caisson vault list --namespace prod", prints: /^MY_KEY /m },
  { printed: "caisson vault delete MY_KEY --namespace prod" },
  { printed: "caisson stats", prints: /uptime_seconds/ },
  { printed: "caisson verify output.csv a1b2c3d4e5f6...", as: ["a1b2c3d4e5f6...", "<sha256>"] },
  { printed: "caisson validate script.py" },
  { printed: "caisson validate app.js --language node --no-auto-fix" },
  { printed: "caisson audit --namespace default --limit 100", prints: /sandbox\.created/ },
  { printed: "caisson host read /etc/hostname", prints: /\S/ },
  { printed: 'caisson host write /tmp/note.txt "hello"', as: ["/tmp/note.txt", "<open>/note.txt"] },
  { printed: "caisson host list /var/log", as: ["/var/log", "<open>"], prints: /note\.txt/ },
  { printed: "caisson host copy /host/data.csv workspace_data.csv", as: ["/host/data.csv", "<open>/data.csv"] },
  { printed: 'caisson host exec "docker ps"', as: ["docker ps", "echo from the host"], prints: /^from the host$/m },
  { printed: "caisson host access list", prints: /docker restart \*/ },
  { printed: 'caisson host access request "docker restart *"', prints: /pending/ },
  { printed: "caisson inspect default --namespace prod", prints: /default/ },
  { printed: "caisson artifacts <request_id>", as: ["<request_id>", "default"] },
  { printed: "caisson bridge <session_id> key '{\"value\": 42}'", as: ["<session_id>", "default"] },
  { printed: "caisson limits --ram 1024 --cpu 2 --timeout 120 --processes 20", prints: /memory_mb +1024/ },
  { printed: "caisson egress api.example.com --namespace default", prints: /api\.example\.com/ },
];

/** S2's environment variables with our prefix, and the setting that each is. */
export const variables: readonly [variable: string, value: string, key: string, holds: string][] = [
  ["CAISSON_BACKEND", "process", "engine", "container"],
  ["CAISSON_BACKEND", "docker", "engine", "container"],
  ["CAISSON_MAX_CONCURRENT", "4", "max_concurrent_jobs", "4"],
  ["CAISSON_NETWORK", "false", "enable_network", "false"],
  ["CAISSON_VAULT", "memory", "vault", "memory"],
  ["CAISSON_VAULT", "env", "vault", "env"],
  ["CAISSON_AUDIT", "memory", "audit", "memory"],
  ["CAISSON_AUDIT", "sqlite", "audit", "sqlite"],
  ["CAISSON_MAX_RAM_MB", "512", "max_ram_mb", "512"],
  ["CAISSON_TIMEOUT", "60", "timeout_seconds", "60"],
  ["CAISSON_SQLITE_PATH", "sandboxmcp.db", "sqlite_path", "sandboxmcp.db"],
];

/** The keys that S2's factory prints, as it prints them. */
export const factoryYaml = `default_backend: process
max_concurrent_jobs: 4
enable_network: false
allowed_domains: ["api.example.com"]
vault: memory
audit: sqlite
max_ram_mb: 512
max_cpu_cores: 1
timeout_seconds: 60
max_processes: 10
sqlite_path: sandboxmcp.db
`;

/** S2's 23 tools and S3's 8, with the parameters that a document prints. */
export const tools: Readonly<Record<string, readonly string[]>> = {
  execute_code: ["code", "language", "resource_limits", "allowed_domains"],
  install_package: [],
  validate_code: ["code"],
  create_session: [],
  terminate_session: ["session_id"],
  bridge_data: [],
  list_runtimes: [],
  set_resource_limits: [],
  sandbox_stats: [],
  inspect_state: [],
  get_artifacts: [],
  request_egress: ["domain"],
  audit_execution: [],
  web_search: [],
  fetch_webpage: [],
  browser_fetch: [],
  host_exec: [],
  request_host_access: [],
  list_host_access: [],
  host_file_read: [],
  host_file_write: [],
  host_file_list: [],
  host_file_copy: [],
  run_sandbox_code: ["code", "timeout_sec"],
  validate_json_data: ["data", "schema_name_or_dict"],
  validate_csv_data: ["csv_content", "required_headers", "type_constraints"],
  create_state_snapshot: ["description"],
  restore_state_snapshot: ["snapshot_id"],
  list_state_snapshots: [],
  delete_state_snapshot: ["snapshot_id"],
  get_sandbox_metrics: [],
};

export const resources = ["sandbox://status", "sandbox://logs", "sandbox://schemas"] as const;
export const prompts = ["generate_secure_script", "diagnose_validation_error"] as const;

export const eventTypes = [
  "execution.started",
  "execution.completed",
  "execution.failed",
  "execution.timeout",
  "session.created",
  "session.killed",
  "package.installed",
  "egress.requested",
  "egress.approved",
  "egress.denied",
  "vault.accessed",
  "resource.exceeded",
  "artifact.signed",
  "queue.backpressure",
] as const;

/** Promises that a requirement of docs/requirements.md repeats, and its tests hold. */
export const promises: readonly [seed: string, printed: string, requirement: string][] = [
  ["S1", "Read-only root filesystem", "SBX-01"],
  ["S1", "Non-root user (uid 1000)", "SBX-03"],
  ["S1", "Dropped Linux capabilities", "SBX-03"],
  ["S1", "Network disabled by default", "NET-01"],
  ["S1", "Path traversal protection", "FIL-02"],
  ["S1", "Full execution audit log", "AUD-01"],
  ["S1", "Resource limits (CPU/mem)", "SBX-08"],
  ["S1", "Configurable timeouts", "SBX-11"],
  ["S1", "Each sandbox gets a dedicated volume that survives stops and restarts", "FIL-07"],
  ["S1", "Session affinity via session_key", "LIF-03"],
  ["S1", "Pre-warmed containers ready", "LIF-02"],
  ["S1", "auto-replenish pool · stop idle · destroy expired", "LIF-04"],
  ["S1", "Tracks every file change automatically", "EXE-08"],
  ["S1", "Every command execution is logged with exit code, stdout, stderr, duration, and file changes", "EXE-14"],
  ["S1", "the image builds locally from included package specs", "IMG-02"],
  ["S2", "Polyglot execution: Python, Node.js, and Shell", "EXE-05"],
  ["S2", "domains must be explicitly approved per-request", "EXE-01"],
  ["S2", "SHA-256 hash on every output file; verify integrity anytime", "EXE-09"],
  ["S2", "CPU, RAM, process count, and timeout limits", "SBX-13"],
  ["S2", "Backpressure-aware concurrency control", "LIF-11"],
  ["S2", "Syntax checking and auto-fix before execution", "VAL-01"],
  ["S2", "Guarded host command execution with approval workflow", "HST-02"],
  ["S2", "Web search, page fetching, and browser rendering", "WEB-01"],
  ["S2", 'web search "python asyncio tutorial"', "WEB-01"],
  ["S2", "web fetch https://example.com", "WEB-02"],
  ["S2", 'web browser https://example.com --wait-for ".content" --screenshot', "WEB-03"],
  ["S2", "23 tools, stdio transport, any MCP client", "MCP-01"],
  ["S2", "claude_desktop_config.json: one entry with command and args", "MCP-09"],
  ["S2", "Stateful sessions; Cross-language bridge", "EXE-11"],
  ["S2", "it never reports a containment it didn't actually apply", "SBX-14"],
  ["S2", "Human-in-the-loop approval via request_egress", "NET-09"],
  ["S3", "The AST visitor blocks exec, eval, dunder attributes and unapproved imports", "VAL-02"],
  ["S3", "Validates JSON payloads against predefined or custom schemas", "VAL-03"],
  ["S3", "Enforces column headers and datatype rules on CSV data", "VAL-04"],
  [
    "S3",
    "Files not in the snapshot are deleted, modified ones rewritten, missing ones recreated, mtimes restored",
    "LIF-09",
  ],
  ["S3", "the last 100 execution traces", "MCP-04"],
  ["S4", "scoped filesystem mounts", "FIL-08"],
  ["S4", "explicit network policy", "NET-02"],
  ["S4", "package installs through configured registries", "EXE-10"],
  ["S4", "logs of commands, file changes, egress", "AUD-01"],
];

/** Lines that later work delivers, by its subject. */
export const waiting: Readonly<Record<string, readonly string[]>> = {
  "hosted MCP servers": [
    "tar -czf my-mcp-server.tar.gz server.py requirements.txt",
    "Max size: 250 MB. Tarball must contain requirements.txt at root.",
    "Python 3.11+; glibc",
    "requirements.txt with mcp[cli], httpx, uvicorn",
    "server.py with FastMCP on 0.0.0.0:8000",
    "Sandbox runs python server.py or your configured command",
    "Max 10 domains per server; port-specific rules",
    "read_secret in a server",
    "Env vars are logged on startup",
    "CPU shares 512-4096; memory 256 MB-8 GB; storage 5-100 GB; processes 64-512 of a server",
    "/sandbox/{server-id}/mcp",
    "the client configuration with X-API-Key",
    "Live metrics of a server: calls, latency, CPU, memory, egress, uptime, health",
    "Every tool call (args and result) in the audit log",
    "placement beside the agent, alone, or outside behind a URL",
    "secrets bound to one tool of a server",
  ],
  "people and OAuth": ["the client configuration without a key (OAuth)", "Token automatically managed"],
  dashboard: [
    "upload via the dashboard",
    "Sandboxes list with status, allocation, recent commands",
    "Configure sandbox provider, resource quotas, and idle timeouts",
    "Import with one click",
    "Billing dashboard",
    "/dashboard/mcp-hub/{server-id}/dlp",
  ],
  DLP: [
    "Every tool call (inbound and outbound) is scanned",
    "Block, redact, warn, or log separately for each tool",
    "Instant notification of blocked content",
    "threat summary and detailed logs",
  ],
  "tiers and metering": [
    "Servers 2, 5, unlimited",
    "Monthly compute 10, 100 CPU-hours, unlimited",
    "Memory a server 512 MB, 4 GB, 8 GB",
    "Storage a server 5, 50, 100 GB",
    "Audit logs 7 days, 90 days, 1 year",
    "Pay for compute time, storage, and outbound bandwidth",
  ],
  "installable packages": ["pip install and docker build of the product", "docker run -i --rm of the server on stdio"],
};
