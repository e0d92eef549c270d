import { globSync, readFileSync } from "node:fs";
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AppError } from "../core/errors.ts";
import { builtIn } from "./built-in.ts";
import { findPackages } from "./find-packages.ts";
import { packageLimits } from "./limits.ts";
import { hostFiles, type MachineFiles } from "./machine-files.ts";
import { readRegistries } from "./read-registries.ts";

const machine = (files: Record<string, string>, variables: MachineFiles["variables"] = {}): MachineFiles => ({
  text: async (path) => files[path],
  certificates: async (path) => (path === "/opt/own.pem" ? "PEM" : undefined),
  builtIn: async (manager) => ({ url: `https://${manager}.example/simple`, files: "files.example" }),
  checkHost: (draft) => {
    if (draft.host === "localhost") throw new AppError("invalid", "it is the sandbox itself");
    return draft;
  },
  variables,
  home: "/home/op",
});
const read = (...given: Parameters<typeof machine>) => readRegistries(machine(...given));
const pip = async (text: string, variables?: MachineFiles["variables"]) =>
  (await read({ "/etc/pip.conf": text }, variables)).pip;
const npm = async (text: string, variables?: MachineFiles["variables"]) =>
  (await read({ "/home/op/.npmrc": text }, variables)).npm;

describe("hosts that packages come from", () => {
  it("[NET-13] are those of the configuration and those that pip and npm know by themselves", async () => {
    const { knownHosts } = await findPackages({
      host: machine({ "/etc/pip.conf": "[global]\nindex-url = https://mirror.example/simple\n" }),
      hosts: [],
      apt: ["deb http://debian.example/debian trixie main"],
      checkFolder: async () => undefined,
      log: () => undefined,
    });
    expect(Object.fromEntries(knownHosts)).toMatchObject({
      "debian.example": "apt",
      "mirror.example": "pip",
      "pip.example": "pip",
      "npm.example": "npm",
    });
  });
});

describe("registries of this machine", () => {
  it("[NET-13] come from the files of pip, the later one first, and from its variables before both", async () => {
    const files = {
      "/etc/pip.conf":
        "[global]\nindex-url = https://one.example/simple\nextra-index-url =\n    https://a.example/s\n    http://b.example:81/s\n",
      "/home/op/.config/pip/pip.conf": "[install]\nindex-url: nothing\nindex-url = https://two.example/simple\n",
    };
    const { pip } = await read(files, { PIP_TRUSTED_HOST: "b.example" });
    expect(pip.variables).toMatchObject({
      PIP_INDEX_URL: "https://two.example/simple",
      PIP_EXTRA_INDEX_URL: "https://a.example/s http://b.example:81/s",
      PIP_TRUSTED_HOST: "b.example",
    });
    expect(pip.hosts).toEqual([
      { host: "two.example", port: 443, protocol: "tls" },
      { host: "a.example", port: 443, protocol: "tls" },
      { host: "b.example", port: 81, protocol: "http" },
    ]);
    const given = await read(files, { PIP_INDEX_URL: "https://three.example/simple" });
    expect(given.pip.variables.PIP_INDEX_URL).toBe("https://three.example/simple");
    const none = await read(files, { PIP_CONFIG_FILE: "/dev/null" });
    expect(none.pip.hosts.map(({ host }) => host)).toEqual(["pip.example", "files.example"]);
  });

  it("[NET-13] come from the files of npm, scope by scope, with variables of the environment in them", async () => {
    const text =
      "registry=https://npm.corp.example/\n@a:registry=$" + "{PLACE}\ncafile=/opt/own.pem\nignore-scripts=true\n";
    const { variables, hosts, trust, certificates, keepsFiles } = await npm(text, {
      PLACE: "https://a.example:8443/x/",
    });
    expect(variables).toMatchObject({
      npm_config_registry: "https://npm.corp.example/",
      "npm_config_@a:registry": "https://a.example:8443/x/",
      npm_config_ignore_scripts: "true",
    });
    expect(trust).toEqual({ npm_config_cafile: "/workspace/.packages/registry.pem" });
    expect(hosts.map(({ host, port }) => [host, port])).toEqual([
      ["npm.corp.example", 443],
      ["a.example", 8443],
    ]);
    expect([certificates, keepsFiles]).toEqual(["PEM", false]);
    expect((await npm("strict-ssl=false\n")).keepsFiles).toBe(false);
    expect((await npm("")).hosts.map(({ host }) => host)).toEqual(["npm.example"]);
  });

  it("are folders too, which sandboxes find elsewhere", async () => {
    const { variables, folders, hosts, trust, keepsFiles, problem } = await pip(
      "[global]\nno-index = true\nfind-links = /srv/wheels file:///srv/more/wheels\ncert = /etc/ssl/certs/ca.crt\n",
    );
    const [one = "", two = ""] = folders.map(({ path }) => path);
    expect(folders.map(({ source }) => source)).toEqual(["/srv/wheels", "/srv/more/wheels"]);
    expect(variables).toMatchObject({
      PIP_FIND_LINKS: `${one} file://${two}`,
      PIP_NO_INDEX: "true",
    });
    expect([trust, keepsFiles]).toEqual([{ PIP_CERT: "/etc/ssl/certs/ca.crt" }, true]);
    expect((await pip("[global]\ntrusted-host = a.example\n")).keepsFiles).toBe(false);
    expect([hosts, problem]).toEqual([[], null]);
  });

  it.each([
    ["credentials in an index of pip", () => pip("[global]\nindex-url = https://user:word@one.example/simple\n")],
    [
      "credentials in a variable of pip",
      () => pip("", { PIP_EXTRA_INDEX_URL: "https://tokenword@one.example/simple" }),
    ],
    ["a token of npm", () => npm("registry=https://one.example/\n//one.example/:_authToken=tokenword\n")],
    ["a password of npm for everything", () => npm("registry=https://one.example/\n_auth=tokenword\n")],
    ["a token of npm in a variable", () => npm("", { npm_config__auth: "tokenword" })],
    ["a key of pip", () => pip("[global]\nclient-cert = /root/key.pem\n")],
    ["localhost", () => pip("[global]\nindex-url = http://localhost:3141/simple\n")],
    ["what is no URL", () => pip("[global]\nindex-url = nonsense\n")],
  ])("cannot be used with %s, and none of it is passed on", async (_, registry) => {
    const { problem, ...rest } = await registry();
    expect(problem).toEqual(expect.any(String));
    expect(problem).not.toContain("word@");
    expect(rest).toEqual({ variables: {}, hosts: [], folders: [], trust: {}, certificates: null, keepsFiles: false });
  });

  it("have their certificates whole, or are not used", async () => {
    const folder = await mkdtemp(join(tmpdir(), "caisson-test-"));
    try {
      const path = join(folder, "own.pem");
      const { certificates } = hostFiles({}, (host) => host);
      await writeFile(path, "x".repeat(packageLimits.certificateBytes));
      expect((await certificates(path))?.length).toBe(packageLimits.certificateBytes);
      await appendFile(path, "x");
      await expect(certificates(path)).rejects.toThrow("too large");
      expect(await certificates(join(folder, "none"))).toBeUndefined();
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("of others may have credentials: they concern no registry that is used", async () => {
    const { problem, variables } = await npm("registry=https://one.example/\n//two.example/:_authToken=tokenword\n");
    expect([problem, JSON.stringify(variables).includes("tokenword")]).toEqual([null, false]);
  });

  it("[NET-13] are named in no file of this project", async () => {
    const found = await Promise.all([builtIn("pip"), builtIn("npm")]);
    const names = found
      .flatMap((one) => (one === null ? [] : [new URL(one.url).hostname, one.files ?? ""]))
      .filter(Boolean);
    const cwd = join(import.meta.dirname, "../../../..");
    const files = globSync(["packages/*/src/**/*", "docs/**/*.md", "test/**/*", "*.md", "native/**/*.{c,h,py,js}"], {
      cwd,
    });
    const texts = files
      .filter((file) => /\.\w+$/.test(file))
      .map((file) => [file, readFileSync(join(cwd, file), "utf8")] as const);
    expect(texts.length).toBeGreaterThan(500);
    expect(names.flatMap((name) => texts.filter(([, text]) => text.includes(name)).map(([file]) => file))).toEqual([]);
  });
});
