import { describe, expect, it } from "vitest";
import { aptFolder } from "../core/apt.ts";
import { AppError } from "../core/errors.ts";
import { readAptConf } from "./apt-conf.ts";
import { type AptHost, readAptSources } from "./apt-sources.ts";

async function read(files: Record<string, string>, lines: readonly string[] = []) {
  const host: AptHost = {
    bytes: async (path) => (files[path] === undefined ? undefined : Buffer.from(files[path])),
    names: async (folder) =>
      Object.keys(files).flatMap((path) => (path.startsWith(`${folder}/`) ? [path.slice(folder.length + 1)] : [])),
    checkHost: (draft) => {
      if (draft.host === "localhost") throw new AppError("invalid", "it is the sandbox itself");
      return draft;
    },
  };
  const found = await readAptSources(host, lines);
  const text = (path: string) =>
    Buffer.from(found.files.find((file) => file.path === path)?.base64 ?? "", "base64").toString();
  return { ...found, text, sources: text("sources.list.d/host.sources") };
}

describe("what apt is configured for on this machine", () => {
  it("comes from lines and from paragraphs alike, with the keys that each names", async () => {
    const { sources, hosts, problem, text } = await read({
      "/etc/apt/sources.list":
        "# deb http://no.example a main\ndeb [arch=amd64,arm64 signed-by=/etc/apt/keyrings/a.gpg] http://a.example/debian suite main extra # why\ndeb-src http://src.example/ x main\n",
      "/etc/apt/sources.list.d/b.sources":
        "Types: deb deb-src\nURIs: https://b.example:8443/debian\n# a word\nSuites: one two\nComponents: main\nSigned-By: /usr/share/keyrings/b.gpg\n\nEnabled: no\nTypes: deb\nURIs: http://off.example\nSuites: x\n\nTypes: deb\nURIs: http://a.example/more\nSuites: ./\nSigned-By:\n -----BEGIN PGP\n .\n abc\n",
      "/etc/apt/sources.list.d/c.disabled": "deb http://no.example a main\n",
      "/etc/apt/keyrings/a.gpg": "KEY",
      "/etc/apt/trusted.gpg.d/t.asc": "TRUSTED",
      "/etc/apt/preferences.d/pins": "Package: *",
    });
    expect(problem).toBeNull();
    expect(hosts).toEqual([
      { host: "a.example", port: 80, protocol: "http" },
      { host: "b.example", port: 8443, protocol: "tls" },
    ]);
    expect(sources.split("\n\n")).toEqual([
      `Types: deb\nURIs: http://a.example/debian\nSuites: suite\nComponents: main extra\narchitectures: amd64 arm64\nSigned-By: ${aptFolder}/keys/0-a.gpg`,
      "Types: deb\nURIs: https://b.example:8443/debian\nSuites: one two\nComponents: main\nSigned-By: /usr/share/keyrings/b.gpg",
      "Types: deb\nURIs: http://a.example/more\nSuites: ./\nSigned-By: \n -----BEGIN PGP\n .\n abc\n",
    ]);
    expect([text("keys/0-a.gpg"), text("trusted.gpg.d/t.asc"), text("preferences.d/pins")]).toEqual([
      "KEY",
      "TRUSTED",
      "Package: *",
    ]);
  });

  it("goes by its proxy, which is reached as it is", async () => {
    const { text, hosts } = await read({
      "/etc/apt/sources.list": "deb http://a.example/ x main\n",
      "/etc/apt/apt.conf.d/01proxy":
        'Acquire { http { Proxy "http://cache.example:3142"; }; };\nDPkg::Post-Invoke { "rm -rf /"; };\n',
      "/etc/apt/apt.conf": 'Acquire::Check-Valid-Until "false"; // old\n',
    });
    expect(text("apt.conf")).toBe(
      'acquire::http::proxy "http://cache.example:3142";\nacquire::check-valid-until "false";\n',
    );
    expect(hosts).toContainEqual({ host: "cache.example", port: 3142, protocol: "tcp" });
  });

  it("follows a list of mirrors that lies on this machine", async () => {
    const { sources } = await read({
      "/etc/apt/sources.list.d/x.sources":
        "Types: deb\nURIs: mirror+file:///etc/apt/mirrors/x.list\nSuites: x\nComponents: main\n",
      "/etc/apt/mirrors/x.list": "https://mirror.example/debian\tpriority:1\n",
    });
    expect(sources).toContain("URIs: https://mirror.example/debian\n");
  });

  it.each([
    ["has credentials in it", "deb http://me:secret@a.example/ x main\n", "contains credentials for a.example"],
    ["lies on this machine", "deb file:/srv/debian x main\n", "sandboxes have no file"],
    ["is the sandbox itself", "deb http://localhost/ x main\n", "sandboxes cannot reach"],
  ])("leaves out a source that %s, and says so", async (_why, line, left) => {
    const alone = await read({ "/etc/apt/sources.list": line });
    expect(alone).toMatchObject({ files: [], hosts: [], problem: "apt has no sources on this machine" });
    expect(alone.left.join()).toContain(left);
    const beside = await read({ "/etc/apt/sources.list": `${line}deb http://good.example/ x main\n` });
    expect(beside).toMatchObject({ problem: null, hosts: [{ host: "good.example", port: 80, protocol: "http" }] });
    expect(JSON.stringify(beside)).not.toContain("secret");
  });

  const suitesOf = (sources: string) => [...sources.matchAll(/^Suites: (.*)$/gm)].map(([, suites]) => suites);

  it("has Debian 13 in place of older releases, from the same mirrors with the same keys", async () => {
    const { sources, left, hosts } = await read({
      "/etc/apt/sources.list":
        "deb http://a.example/debian bookworm main contrib\ndeb http://a.example/debian bookworm-backports main\ndeb http://a.example/security buster/updates main\n",
      "/etc/apt/sources.list.d/b.sources":
        "Types: deb\nURIs: http://b.example/debian\nSuites: bullseye oldstable bullseye-updates bullseye-security\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n",
      "/etc/apt/sources.list.d/c.list":
        "deb http://c.example/apt cloud-sdk-bookworm main\ndeb http://d.example nodistro main\n",
    });
    expect(suitesOf(sources)).toEqual([
      "trixie",
      "trixie-security",
      "trixie trixie-updates trixie-security",
      "nodistro",
    ]);
    expect(sources).toContain("Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg");
    expect(hosts.map(({ host }) => host)).toEqual(["a.example", "b.example", "d.example"]);
    expect(left.join()).toMatch(/bookworm-backports.*cloud-sdk-bookworm/);
  });

  it("is left as it is where it is of that release, of a newer one or of Ubuntu", async () => {
    const suites = ["trixie", "trixie-backports", "forky", "stable", "sid", "noble-updates", "jammy"];
    const { sources } = await read({
      "/etc/apt/sources.list": suites.map((suite) => `deb http://a.example/debian ${suite} main\n`).join(""),
    });
    expect(suitesOf(sources)).toEqual(suites);
  });

  it("gives way to lines of the configuration, as they are", async () => {
    const files = { "/etc/apt/sources.list": "deb http://a.example/debian bookworm main\n", "/etc/keys/k.gpg": "KEY" };
    const { sources, hosts, text } = await read(files, [
      "deb [signed-by=/etc/keys/k.gpg] http://b.example/ bookworm main",
    ]);
    expect(suitesOf(sources)).toEqual(["bookworm"]);
    expect(hosts).toEqual([{ host: "b.example", port: 80, protocol: "http" }]);
    expect(text("keys/0-k.gpg")).toBe("KEY");
    await expect(read(files, ["http://b.example/ trixie"])).rejects.toThrow("images.apt: ");
  });

  it("is nothing where there is no apt", async () => {
    expect(await read({})).toMatchObject({ files: [], hosts: [], problem: "apt has no sources on this machine" });
  });

  it("is read as apt.conf is written", () => {
    const text = '# no\nA::B "1"; /* no "x"; */ a { b "2"; C { D "3"; "in a list"; }; }; E::F yes;\n';
    expect(Object.fromEntries(readAptConf(text))).toEqual({ "a::b": "2", "a::c::d": "3", "e::f": "yes" });
  });
});
