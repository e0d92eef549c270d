import { join } from "node:path";
import { AppError } from "../core/errors.ts";
import type { Registry } from "../core/package.ts";
import { placeCertificates } from "./certificates.ts";
import { readIni } from "./ini.ts";
import type { MachineFiles } from "./machine-files.ts";
import { Sources } from "./place-source.ts";

/** Settings that are passed on as they are. */
const plain = ["no-index", "only-binary", "no-binary", "prefer-binary", "require-hashes", "pre", "timeout", "retries"];

/** Where pip gets packages from on this machine: the later of its files wins, and a variable over all of them. */
export async function pipRegistry(host: MachineFiles): Promise<Registry> {
  const settings = await readSettings(host);
  if (settings.has("client-cert"))
    throw new AppError("unsupported", "pip on this machine uses a client key, which sandboxes do not get");
  const sources = new Sources("pip", host);
  const builtIn = await host.builtIn("pip");
  const index = settings.get("index-url") ?? builtIn?.url;
  const variables: Record<string, string> = { PIP_CONFIG_FILE: "/dev/null" };
  const list = (name: string) => (settings.get(name) ?? "").split(/\s+/).filter((word) => word !== "");
  for (const name of plain) {
    const value = settings.get(name);
    if (value !== undefined) variables[variableOf(name)] = value;
  }
  const isIndexed = !/^(1|true|yes|on)$/i.test(settings.get("no-index") ?? "");
  if (isIndexed && index !== undefined) variables.PIP_INDEX_URL = sources.add(index);
  const extra = isIndexed ? list("extra-index-url").map((url) => sources.add(url)) : [];
  if (extra.length > 0) variables.PIP_EXTRA_INDEX_URL = extra.join(" ");
  const links = list("find-links").map((place) => sources.add(place));
  if (links.length > 0) variables.PIP_FIND_LINKS = links.join(" ");
  const trusted = list("trusted-host");
  if (trusted.length > 0) variables.PIP_TRUSTED_HOST = trusted.join(" ");
  // The program's own index names its files by another host.
  if (builtIn?.files !== undefined && sources.hosts.some(({ host }) => host === new URL(builtIn.url).hostname))
    sources.addHost(new URL(`https://${builtIn.files}`));
  const cert = settings.get("cert");
  const placed = cert === undefined ? undefined : await placeCertificates(host, cert);
  const isEmpty = sources.hosts.length + sources.folders.length === 0;
  return {
    variables,
    hosts: sources.hosts,
    folders: sources.folders,
    trust: placed === undefined ? {} : { PIP_CERT: placed.path },
    certificates: placed?.text ?? null,
    keepsFiles: (placed?.text ?? null) === null && trusted.length === 0,
    problem: isEmpty ? "pip is configured for no index on this machine" : null,
  };
}

function variableOf(name: string): string {
  return `PIP_${name.toUpperCase().replaceAll("-", "_")}`;
}

/** `[install]` wins over `[global]` in one file as in all of them. */
async function readSettings({ text, variables, home }: MachineFiles): Promise<Map<string, string>> {
  const own = variables.PIP_CONFIG_FILE;
  const config = variables.XDG_CONFIG_HOME || join(home, ".config");
  const usual = ["/etc/xdg/pip/pip.conf", "/etc/pip.conf", join(home, ".pip/pip.conf"), join(config, "pip/pip.conf")];
  const paths = own === "/dev/null" ? [] : [...usual, ...(own ? [own] : [])];
  const files = (await Promise.all(paths.map(text))).map((found) => readIni(found ?? ""));
  const given = Object.entries(variables).flatMap(([name, value]) =>
    /^PIP_[A-Z_]+$/.test(name) && name !== "PIP_CONFIG_FILE" && value ? [[name.slice(4), value] as const] : [],
  );
  const rows = ["global", "install"].flatMap((section) => files.flatMap((file) => [...(file.get(section) ?? [])]));
  return new Map([...rows, ...given].map(([name, value]) => [keyOf(name), value]));
}

function keyOf(name: string): string {
  const key = name.toLowerCase().replaceAll("_", "-");
  return key === "default-timeout" ? "timeout" : key;
}
