import { join } from "node:path";
import { AppError } from "../core/errors.ts";
import type { Registry } from "../core/package.ts";
import { placeCertificates } from "./certificates.ts";
import { readIni } from "./ini.ts";
import type { MachineFiles } from "./machine-files.ts";
import { Sources } from "./place-source.ts";

/** Settings that are passed on as they are. */
const plain = ["strict-ssl", "ignore-scripts", "fetch-timeout", "fetch-retries", "replace-registry-host"];
/** As names end; a variable has no underline at its beginning. */
const secret = /(^|:)[_-]?(auth|authtoken|password|username|certfile|keyfile|cert|key)$/i;

/** Where npm gets packages from on this machine: the later of its files wins, and a variable over all of them. */
export async function npmRegistry(host: MachineFiles): Promise<Registry> {
  const settings = await readSettings(host);
  const sources = new Sources("npm", host);
  const variables: Record<string, string> = {
    // npm wants two, and neither need be there.
    npm_config_userconfig: "/opt/caisson/packages/none",
    npm_config_globalconfig: "/dev/null",
    ...{ npm_config_audit: "false", npm_config_fund: "false", npm_config_update_notifier: "false" },
  };
  const registry = settings.get("registry") ?? (await host.builtIn("npm"))?.url;
  if (registry !== undefined) variables.npm_config_registry = sources.add(registry);
  for (const [name, value] of settings) {
    if (/^@[^:]+:registry$/.test(name)) variables[`npm_config_${name}`] = sources.add(value);
    if (plain.includes(name)) variables[`npm_config_${name.replaceAll("-", "_")}`] = value;
  }
  checkSecrets(settings, sources);
  const cafile = settings.get("cafile");
  const placed = cafile === undefined ? undefined : await placeCertificates(host, cafile);
  return {
    variables,
    hosts: sources.hosts,
    folders: sources.folders,
    trust: placed === undefined ? {} : { npm_config_cafile: placed.path },
    certificates: placed?.text ?? null,
    keepsFiles: (placed?.text ?? null) === null && settings.get("strict-ssl") !== "false",
    problem: sources.hosts.length === 0 ? "npm is configured for no registry on this machine" : null,
  };
}

/** A registry that asks who is there cannot be used from a sandbox, which is to have no credentials. */
function checkSecrets(settings: ReadonlyMap<string, string>, { hosts }: Sources): void {
  for (const name of settings.keys()) {
    if (!secret.test(name)) continue;
    const [, of] = /^\/\/([^/:]+)/.exec(name) ?? [];
    if (of === undefined || hosts.some(({ host }) => host === of))
      throw new AppError(
        "unsupported",
        "npm on this machine uses credentials for its registry, which sandboxes do not get",
      );
  }
}

async function readSettings({ text, variables, home }: MachineFiles): Promise<Map<string, string>> {
  const given = Object.entries(variables).flatMap(([name, value]) =>
    /^npm_config_/i.test(name) && value ? [[name.slice("npm_config_".length), value] as const] : [],
  );
  const own = new Map(given.map(([name, value]) => [keyOf(name), value]));
  const everywhere = own.get("globalconfig");
  const user = own.get("userconfig") ?? join(home, ".npmrc");
  const paths = [...(everywhere === undefined ? usual : [everywhere]), user];
  const files = (await Promise.all(paths.map(text))).map((found) => readIni(found ?? "").get("") ?? new Map());
  const rows = files.flatMap((file) => [...file].map(([name, value]) => [name, expand(value, variables)] as const));
  return new Map([...rows, ...own]);
}

const usual = ["/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc"];

function keyOf(name: string): string {
  return name.startsWith("@") || name.startsWith("//") ? name : name.toLowerCase().replaceAll("_", "-");
}

/** `${NAME}`, as npm reads its files. */
function expand(value: string, variables: MachineFiles["variables"]): string {
  return value.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (text, name: string) => variables[name] ?? text);
}
