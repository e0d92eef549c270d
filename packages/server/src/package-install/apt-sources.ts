/** What this machine's own apt is configured for, in the form that a sandbox has it in: no source is named here (S67). */
import { readdir } from "node:fs/promises";
import { type AptSources, aptFolder, noApt } from "../core/apt.ts";
import { AppError } from "../core/errors.ts";
import { buildLimits } from "../images/limits.ts";
import { readAptConf } from "./apt-conf.ts";
import { type AptEntry, readListFile, readSourcesFile } from "./apt-lists.ts";
import { readBytes } from "./built-in.ts";
import type { MachineFiles } from "./machine-files.ts";
import { newerDebian } from "./newer-debian.ts";
import { Sources } from "./place-source.ts";

export interface AptHost extends Pick<MachineFiles, "checkHost"> {
  bytes(path: string): Promise<Buffer | undefined>;
  /** Names in a folder; none where there is no such folder. */
  names(folder: string): Promise<string[]>;
}

export function aptHost({ checkHost }: Pick<MachineFiles, "checkHost">): AptHost {
  return {
    checkHost,
    bytes: (path) => readBytes(path, buildLimits.aptFileBytes),
    names: async (folder) => (await readdir(folder).catch(() => [])).sort(),
  };
}

/** Settings that are passed on as they are. */
const plain = [
  "acquire::check-valid-until",
  "acquire::retries",
  "acquire::https::verify-peer",
  "acquire::https::verify-host",
];
const proxy = /^acquire::(http|https)::proxy(::[a-z0-9.-]+)?$/;
/** Fields of a source that a sandbox is told. */
const fields = ["architectures", "trusted", "check-valid-until", "by-hash", "valid-until-max", "allow-weak"];
const seenEverywhere = "/usr/"; // the builder has the machine's own

/** With `lines` of sources.list those alone, in place of the machine's own. */
export async function readAptSources(host: AptHost, lines: readonly string[] = []): Promise<AptSources> {
  const given = lines.flatMap(readLine);
  try {
    return await new AptReader(host).read(given);
  } catch (error) {
    if (error instanceof AppError) return { ...noApt, problem: error.message };
    throw error;
  }
}

function readLine(line: string): AptEntry[] {
  const found = readListFile(line);
  if (found.length > 0) return found;
  throw new AppError("invalid", `images.apt: ${JSON.stringify(line.slice(0, 200))} is not a line of sources.list`, {
    hint: "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://mirror.example/debian trixie main",
  });
}

class AptReader {
  readonly #host: AptHost;
  readonly #sources: Sources;
  readonly #files = new Map<string, Buffer>();
  readonly #left: string[] = [];

  constructor(host: AptHost) {
    this.#host = host;
    this.#sources = new Sources("apt", host);
  }

  async read(given: readonly AptEntry[]): Promise<AptSources> {
    const entries = given.length > 0 ? given : this.#newer(await this.#entries());
    const texts: string[] = [];
    for (const entry of entries.slice(0, buildLimits.aptSources)) {
      try {
        texts.push(await this.#place(entry));
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        this.#left.push(error.message);
      }
    }
    if (texts.length === 0) return { ...noApt, left: this.#left };
    this.#files.set("sources.list.d/host.sources", Buffer.from(texts.join("\n")));
    await this.#copy("/etc/apt/trusted.gpg.d", /\.(gpg|asc)$/);
    await this.#copy("/etc/apt/preferences.d", /^[\w.-]+$/);
    for (const name of ["trusted.gpg", "preferences"]) await this.#take(`/etc/apt/${name}`, name);
    this.#files.set("apt.conf", Buffer.from(await this.#settings()));
    const files = [...this.#files].map(([path, bytes]) => ({ path, base64: bytes.toString("base64") }));
    return { files, hosts: this.#sources.hosts, left: this.#left, problem: null };
  }

  async #entries(): Promise<AptEntry[]> {
    const found: AptEntry[] = readListFile((await this.#text("/etc/apt/sources.list")) ?? "");
    for (const name of await this.#host.names("/etc/apt/sources.list.d")) {
      const read = name.endsWith(".list") ? readListFile : name.endsWith(".sources") ? readSourcesFile : undefined;
      if (read !== undefined) found.push(...read((await this.#text(`/etc/apt/sources.list.d/${name}`)) ?? ""));
    }
    return found;
  }

  #newer(entries: readonly AptEntry[]): AptEntry[] {
    return entries.flatMap((own) => {
      const { entry, left } = newerDebian(own);
      for (const suite of left)
        this.#left.push(`apt's suite ${suite.slice(0, 80)} is left out: images are made of Debian 13`);
      return entry ?? [];
    });
  }

  /** As a paragraph that apt in the sandbox reads. */
  async #place({ uris, suites, components, fields: given }: AptEntry): Promise<string> {
    const places = [];
    for (const uri of uris) places.push(await this.#place1(uri));
    const lines = [`Types: deb`, `URIs: ${places.join(" ")}`, `Suites: ${suites.join(" ")}`];
    if (components.length > 0) lines.push(`Components: ${components.join(" ")}`);
    for (const name of fields) {
      const value = given.get(name);
      if (value !== undefined) lines.push(`${name}: ${value}`);
    }
    const signed = given.get("signed-by");
    if (signed !== undefined) lines.push(`Signed-By: ${await this.#keys(signed)}`);
    return `${lines.join("\n")}\n`;
  }

  async #place1(uri: string): Promise<string> {
    const [, list] = /^mirror\+file:(?:\/\/)?(\/.*)$/.exec(uri) ?? [];
    if (list !== undefined) {
      const [first] = ((await this.#text(list)) ?? "").split("\n").filter((line) => /^https?:/.test(line));
      if (first === undefined) throw new AppError("unsupported", "apt's mirror list is empty");
      return this.#place1(first.trim().split(/\s+/)[0] ?? "");
    }
    if (!/^https?:/.test(uri))
      throw new AppError(
        "unsupported",
        `a source of apt is left out: sandboxes have no ${uri.split(":")[0]?.slice(0, 40)}`,
      );
    return this.#sources.add(uri);
  }

  /** Paths of keys, or a key itself over several lines, or fingerprints. */
  async #keys(signed: string): Promise<string> {
    if (signed.includes("\n")) return signed;
    const words = signed.split(/[\s,]+/).filter((word) => word !== "");
    const placed = [];
    for (const word of words) placed.push(word.startsWith("/") ? await this.#key(word) : word);
    return placed.join(" ");
  }

  async #key(path: string): Promise<string> {
    if (path.startsWith(seenEverywhere)) return path;
    const name = `keys/${this.#files.size}-${path.split("/").at(-1)}`;
    await this.#take(path, name);
    return `${aptFolder}/${name}`;
  }

  async #settings(): Promise<string> {
    const texts = [];
    for (const name of await this.#host.names("/etc/apt/apt.conf.d"))
      if (/^[\w-]+(\.conf)?$/.test(name)) texts.push((await this.#text(`/etc/apt/apt.conf.d/${name}`)) ?? "");
    texts.push((await this.#text("/etc/apt/apt.conf")) ?? "");
    const lines = [];
    for (const [name, value] of texts.flatMap((text) => [...readAptConf(text)])) {
      if (proxy.test(name)) this.#proxy(value);
      if (proxy.test(name) || plain.includes(name)) lines.push(`${name} "${value}";`);
    }
    return `${lines.join("\n")}\n`;
  }

  /** Its own protocol goes by, and the names in it are the proxy's to judge. */
  #proxy(value: string): void {
    if (!/^https?:/.test(value)) return; // DIRECT
    const { hostname, port, protocol, username } = new URL(value);
    if (username !== "")
      throw new AppError("unsupported", "apt's proxy on this machine requires credentials, which sandboxes do not get");
    this.#sources.addRule({
      host: hostname,
      port: Number(port || (protocol === "https:" ? 443 : 80)),
      protocol: "tcp",
    });
  }

  async #copy(folder: string, names: RegExp): Promise<void> {
    for (const name of await this.#host.names(folder))
      if (names.test(name)) await this.#take(`${folder}/${name}`, `${folder.split("/").at(-1)}/${name}`);
  }

  async #take(path: string, name: string): Promise<void> {
    const bytes = await this.#host.bytes(path);
    if (bytes === undefined) return;
    if (this.#files.size >= buildLimits.aptKeys || bytes.length >= buildLimits.aptFileBytes)
      throw new AppError("unsupported", "the configuration of apt on this machine is too large");
    this.#files.set(name, bytes);
  }

  async #text(path: string): Promise<string | undefined> {
    return (await this.#host.bytes(path))?.toString("utf8");
  }
}
