import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { caissonOptions } from "./caisson-options.ts";
import { loadConfiguration } from "./config.ts";
import { daemonOptions } from "./daemon-options.ts";
import { readEnvironment } from "./env.ts";
import { defaultOf, type Settings, settingNames, specOf } from "./settings.ts";

let home: string;
beforeEach(async () => {
  home = await mkdtemp("/var/tmp/caisson-config-");
});
afterEach(async () => {
  await rm(home, { recursive: true });
});

interface Given {
  yaml?: string;
  variables?: Record<string, string>;
  options?: Partial<Settings>;
  configFile?: string | null;
}

async function load({ yaml, variables = {}, options = {}, configFile }: Given) {
  if (yaml !== undefined) await writeFile(join(home, "caisson.yaml"), yaml);
  const environment = readEnvironment({ CAISSON_HOME: home, ...variables });
  return loadConfiguration({ environment, options, ...(configFile === undefined ? {} : { configFile }) });
}

const failure = async (given: Given) => {
  const error = await load(given).then(
    () => undefined,
    (reason) => reason,
  );
  return { code: error?.code, message: error?.message.replaceAll(home, "HOME"), hint: error?.hint };
};

describe("the configuration", () => {
  it("[API-07] is the defaults where nothing is said, and says so", async () => {
    const { settings, origins } = await load({});
    for (const name of settingNames) {
      expect(settings[name]).toEqual(defaultOf(specOf(name)));
      expect(origins[name]).toBe("default");
    }
  });

  it("[API-07] takes the file over defaults, the environment over the file, options over all", async () => {
    const yaml = "max_ram_mb: 100\nmax_processes: 10\ncpu_shares: 600\n";
    const variables = { CAISSON_MAX_PROCESSES: "20", CAISSON_CPU_SHARES: "700" };
    const { settings, origins } = await load({ yaml, variables, options: { cpu_shares: 800 } });
    expect(settings).toMatchObject({ max_ram_mb: 100, max_processes: 20, cpu_shares: 800, max_cpu_cores: 1 });
    expect(origins).toMatchObject({
      max_ram_mb: `${home}/caisson.yaml:1`,
      max_processes: "CAISSON_MAX_PROCESSES",
      cpu_shares: "options",
      max_cpu_cores: "default",
    });
  });

  it("[API-07] has a variable of its own for every setting, with our prefix", () => {
    const variables = settingNames.map((name) => specOf(name).env);
    expect(new Set(variables).size).toBe(variables.length);
    expect(variables.filter((name) => !/^CAISSON_[A-Z_]+$/.test(name))).toEqual([]);
  });

  it("reads levels as dots, another name of a key, and lists", async () => {
    const yaml = "default_backend: gvisor\nruns:\n  keep: 7\n  record: false\nallowed_domains: []\n";
    const { settings, origins } = await load({ yaml });
    expect(settings).toMatchObject({ engine: "gvisor", "runs.keep": 7, "runs.record": false, allowed_domains: [] });
    expect(origins["runs.record"]).toBe(`${home}/caisson.yaml:4`);
  });

  it("comes from the file that is named, or from none", async () => {
    const other = join(home, "other.yaml");
    await writeFile(other, "max_processes: 3\n");
    const yaml = "max_processes: 4\n";
    expect((await load({ yaml })).settings.max_processes).toBe(4);
    expect((await load({ yaml, configFile: other })).settings.max_processes).toBe(3);
    expect((await load({ yaml, variables: { CAISSON_CONFIG: other } })).settings.max_processes).toBe(3);
    expect((await load({ yaml, variables: { CAISSON_CONFIG: other }, configFile: null })).settings.max_processes).toBe(
      64,
    );
  });

  it("takes an empty file and an empty variable for nothing said", async () => {
    expect((await load({ yaml: "", variables: { CAISSON_ENGINE: "" } })).origins.engine).toBe("default");
    expect((await load({ yaml: "# nothing\n" })).origins.engine).toBe("default");
  });

  it.each([
    ["engine: auto\nengne: gvisor\n", "HOME/caisson.yaml:2: unknown setting 'engne'", "did you mean engine?"],
    ["max_ram: 5\n", "HOME/caisson.yaml:1: unknown setting 'max_ram'", "did you mean max_ram_mb?"],
    ["timeout: 5\n", "HOME/caisson.yaml:1: unknown setting 'timeout'", "did you mean timeout_seconds?"],
    ["runs:\n  kep: 5\n", "HOME/caisson.yaml:2: unknown setting 'runs.kep'", "did you mean runs.keep?"],
    ["zzz: 5\n", "HOME/caisson.yaml:1: unknown setting 'zzz'", "caisson config --help lists the settings"],
    [
      "engine: gvisr\n",
      "HOME/caisson.yaml:1: engine: 'gvisr' is not one of auto, gvisor, container",
      "did you mean gvisor?",
    ],
    ["\n\nmax_ram_mb: lots\n", "HOME/caisson.yaml:3: max_ram_mb: 'lots' is not a number", undefined],
    ['max_ram_mb: "512"\n', "HOME/caisson.yaml:1: max_ram_mb: '512' is not a number", undefined],
    ["max_ram_mb: .nan\n", "HOME/caisson.yaml:1: max_ram_mb: null is not a number", undefined],
    ["max_ram_mb:\n", "HOME/caisson.yaml:1: max_ram_mb: null is not a number", undefined],
    ["max_ram_mb: 8193\n", "HOME/caisson.yaml:1: max_ram_mb: 8193 exceeds the maximum of 8192", undefined],
    ["max_ram_mb: 63\n", "HOME/caisson.yaml:1: max_ram_mb: 63 is below the minimum of 64", undefined],
    ["max_processes: 1.5\n", "HOME/caisson.yaml:1: max_processes: 1.5 is not a whole number", undefined],
    ["runs:\n  record: maybe\n", "HOME/caisson.yaml:2: runs.record: 'maybe' is not true or false", undefined],
    ["runc_path: runc\n", "HOME/caisson.yaml:1: runc_path: 'runc' is not an absolute path", undefined],
    ["allowed_domains: a.org\n", "HOME/caisson.yaml:1: allowed_domains: 'a.org' is not a list of strings", undefined],
    ["- engine\n", "HOME/caisson.yaml:1: expected one setting per line, as KEY: VALUE", undefined],
    ["engine: auto\nengine: gvisor\n", "HOME/caisson.yaml:2: Map keys must be unique", undefined],
    [
      "engine: auto\ndefault_backend: gvisor\n",
      "HOME/caisson.yaml:2: engine is already set at HOME/caisson.yaml:1",
      undefined,
    ],
    ["allowed_domains: [&a b, *a]\n", "HOME/caisson.yaml:1: aliases are not supported", undefined],
  ])("[API-07] refuses %j, and says where and what", async (yaml, message, hint) => {
    expect(await failure({ yaml })).toEqual({ code: "invalid", message, hint });
  });

  it.each([
    [{ CAISSON_TIMEOUT: "soon" }, "CAISSON_TIMEOUT: 'soon' is not a number"],
    [{ CAISSON_TIMEOUT: "0x10" }, "CAISSON_TIMEOUT: '0x10' is not a number"],
    [{ CAISSON_TIMEOUT: "4000" }, "CAISSON_TIMEOUT: 4000 exceeds the maximum of 3600"],
    [{ CAISSON_ENGINE: "kvm" }, "CAISSON_ENGINE: 'kvm' is not one of auto, gvisor, container"],
    [{ CAISSON_RUNS_RECORD: "perhaps" }, "CAISSON_RUNS_RECORD: 'perhaps' is not true or false"],
  ])("[API-07] refuses %j", async (variables, message) => {
    expect(await failure({ variables })).toMatchObject({ code: "invalid", message });
  });

  it.each([
    ["vault: memory\n", "the daemon does not support vault: memory; it stores secrets encrypted on disk"],
    ["audit: memory\n", "the daemon does not support audit: memory; it stores the audit log on disk"],
  ])("[API-07] takes %j where no daemon is, and a daemon refuses it with a sentence", async (yaml, sentence) => {
    const configuration = await load({ yaml });
    expect(caissonOptions(configuration).engine).toBe("auto");
    expect(() => daemonOptions(configuration)).toThrow(sentence);
    expect(() => daemonOptions(configuration)).toThrow(expect.objectContaining({ code: "unsupported" }));
  });

  it("[API-07] takes a database's name, which lies in the data folder, and no path out of it", async () => {
    expect((await load({ yaml: "sqlite_path: sandboxmcp.db\n" })).settings.sqlite_path).toBe("sandboxmcp.db");
    for (const path of ["/a.db", "../a.db", "run/a.db", "vault-key", ".db"])
      expect(await failure({ variables: { CAISSON_SQLITE_PATH: path } })).toMatchObject({
        code: "invalid",
        hint: "the file is always in the data folder",
      });
  });

  it("[API-07] takes names of backends elsewhere for the engine that does their work here", async () => {
    for (const name of ["process", "docker"]) {
      expect((await load({ variables: { CAISSON_BACKEND: name } })).settings.engine).toBe("container");
      expect((await load({ yaml: `default_backend: ${name}\n` })).settings.engine).toBe("container");
    }
    expect((await load({ variables: { CAISSON_BACKEND: "gvisor" } })).origins.engine).toBe("CAISSON_BACKEND");
    expect(await failure({ variables: { CAISSON_BACKEND: "docker", CAISSON_ENGINE: "gvisor" } })).toMatchObject({
      message: "CAISSON_BACKEND: engine is already set by CAISSON_ENGINE",
    });
  });

  it.each([
    ["CAISSON_MAX_RAM_BM", "did you mean CAISSON_MAX_RAM_MB?"],
    ["CAISSON_TIMEOUTT", "did you mean CAISSON_TIMEOUT?"],
    ["CAISSON_API_KEYS", "did you mean CAISSON_API_KEY?"],
    ["CAISSON_XYZZY", "unset it; docs/configuration.md lists all variables that start with CAISSON_"],
  ])("[API-07] refuses the variable %s, which nothing would obey", async (name, hint) => {
    expect(await failure({ variables: { [name]: "5" } })).toEqual({
      code: "invalid",
      message: `unknown variable ${name}`,
      hint,
    });
    expect((await load({ variables: { [name]: "" } })).origins.engine).toBe("default");
  });

  it("[API-07] takes variables of tests, of secrets and of others", async () => {
    const ours = { CAISSON_SEED: "7", CAISSON_SOAK: "1", CAISSON_TEST_GUEST: "x", CAISSON_DEBUG: "1" };
    const variables = { ...ours, CAISSON_SECRET_DEFAULT_KEY: "a value", OTHER_TIMEOUT: "3" };
    expect((await load({ variables })).origins.engine).toBe("default");
  });

  it("[API-07] takes what sandboxes may reach, and whether any may", async () => {
    expect(caissonOptions(await load({})).network).toEqual({
      enabled: true,
      allow: [],
      deny: [],
      unknown: "deny",
      dnsServers: [],
    });
    const yaml =
      "allowed_domains: [api.example.com]\nnetwork:\n  deny: ['*.example.org']\n  unknown: ask\n  dns_servers: [10.0.0.2]\n";
    const configuration = await load({ yaml, variables: { CAISSON_NETWORK: "off" } });
    expect(caissonOptions(configuration).network).toEqual({
      enabled: false,
      allow: ["api.example.com"],
      deny: ["*.example.org"],
      unknown: "ask",
      dnsServers: ["10.0.0.2"],
    });
  });

  it("takes an origin as public_url, and networks as trusted_proxies, and nothing else", async () => {
    const yaml = 'public_url: https://Caisson.Example.com:443/\ntrusted_proxies: [127.0.0.1, "fd00::/8"]\n';
    const { settings } = await load({ yaml });
    expect(settings).toMatchObject({
      public_url: "https://caisson.example.com",
      trusted_proxies: ["127.0.0.1", "fd00::/8"],
    });
    for (const url of [
      "caisson.example.com",
      "ftp://a.example",
      "https://a.example/x",
      "https://a.example/?q",
      "https://u@a.example",
    ])
      expect((await failure({ yaml: `public_url: ${url}` })).message, url).toMatch(
        /caisson.yaml:1: public_url: '.*' is not/,
      );
    for (const network of ["localhost", "10.0.0.0/33", "proxy.example"])
      expect((await failure({ yaml: `trusted_proxies: [${network}]` })).message).toContain(`'${network}' is not an IP`);
  });

  it("[IDN-03] [S110] has the daemon listen where others can reach it with TLS or by an explicit flag alone", async () => {
    const options = async (variables: Record<string, string>) => daemonOptions(await load({ variables })).addresses;
    const files = { CAISSON_TLS_CERT_FILE: "/etc/cert.pem", CAISSON_TLS_KEY_FILE: "/etc/key.pem" };
    const open = { CAISSON_LISTEN: "0.0.0.0" };
    for (const address of ["0.0.0.0", "::", "192.0.2.1", "fd00::1", "::ffff:192.0.2.1"])
      await expect(options({ CAISSON_LISTEN: address })).rejects.toThrow(/^cannot listen on .* TLS is not configured$/);
    for (const address of ["127.0.0.1", "127.9.9.9", "::1"])
      expect((await options({ CAISSON_LISTEN: address })).certificate).toBeNull();
    expect(await options({ ...open, CAISSON_LISTEN_WITHOUT_TLS: "true" })).toMatchObject({
      address: "http://0.0.0.0:7420",
    });
    expect(await options({ ...open, ...files })).toMatchObject({
      certificate: { certFile: "/etc/cert.pem", keyFile: "/etc/key.pem" },
      address: "https://0.0.0.0:7420",
    });
    expect(daemonOptions(await load({ variables: { ...open, ...files } })).linkBase).toBe("https://localhost:7420");
    const hosts = async (listen: string) =>
      daemonOptions(await load({ variables: { ...files, CAISSON_LISTEN: listen } })).hosts;
    expect([await hosts("192.0.2.1"), await hosts("fd00::1"), await hosts("::")]).toEqual([
      ["192.0.2.1"],
      ["[fd00::1]"],
      [],
    ]);
    const { CAISSON_TLS_KEY_FILE: _, ...half } = files;
    await expect(options(half)).rejects.toThrow("tls.cert_file requires tls.key_file, which is not set");
  });

  it("refuses options that are none", async () => {
    const options = { max_rm_mb: 3 } as Partial<Settings>;
    expect(await failure({ options })).toMatchObject({ code: "invalid", hint: "did you mean max_ram_mb?" });
  });

  it("refuses a named file that is not there, a folder, and a huge file", async () => {
    expect(await failure({ configFile: join(home, "none") })).toMatchObject({
      code: "invalid",
      message: "cannot read the configuration HOME/none: ENOENT",
    });
    await mkdir(join(home, "folder"));
    expect((await failure({ configFile: join(home, "folder") })).message).toBe("HOME/folder: not a regular file");
    expect(await failure({ yaml: "#".repeat(300_000) })).toMatchObject({ code: "too_large" });
  });

  it("becomes options in the units of the inside", async () => {
    const yaml =
      "max_ram_mb: 128\ntimeout_seconds: 2.5\nmax_storage_mb: 64\nrunc_path: /opt/runc\nruns: { record: false }\n";
    const options = caissonOptions(await load({ yaml }));
    expect(options).toMatchObject({
      home,
      limits: { memoryBytes: 128 * 1024 ** 2, storageBytes: 64 * 1024 ** 2 },
      runLimits: { timeoutMs: 2500 },
      runtimePaths: { container: "/opt/runc" },
    });
    expect(options.records).toBeUndefined();
    expect(options.runtimePaths.gvisor).toBeUndefined();
  });
});
