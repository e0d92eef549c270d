/** Registries of pip and npm on loopback, over TLS that the daemon can verify, and a host that is none. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { NetworkOptions } from "../../packages/server/src/core/egress-policies.ts";
import type { Registries } from "../../packages/server/src/core/package.ts";
import { checkAllowRule } from "../../packages/server/src/egress/check-rule.ts";
import { hostFiles } from "../../packages/server/src/package-install/machine-files.ts";
import { readRegistries } from "../../packages/server/src/package-install/read-registries.ts";
import { certificate } from "../egress/certificate.ts";
import { dnsHost, type WebHost, webHost } from "../egress/hosts.ts";
import { names } from "../egress/rules.ts";
import { npmRegistryOf, pipIndex, sourceArchive, wheel } from "../packages/made.ts";

export interface MadeRegistries extends AsyncDisposable {
  registries: Registries;
  network: NetworkOptions;
  host: WebHost;
  other: WebHost;
}

/** With these packages of PyPI, each of which runs its code as it is installed. `URL` and `OTHER` in it are hosts. */
export async function makeRegistries(codes: Readonly<Record<string, string>>): Promise<MadeRegistries> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp("/var/tmp/caisson-test-");
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const dns = opened.use(await dnsHost(names));
  const other = opened.use(await webHost({ tls: true }));
  const files: Record<string, Buffer> = { "plain-1.0-py3-none-any.whl": wheel("plain", "1.0") };
  const base = () => `https://allowed.example:${host.port}`;
  const npm = npmRegistryOf([{ name: "plain-node", version: "1.0.0", files: { "index.js": "" } }], base);
  const host: WebHost = opened.use(
    await webHost({
      tls: true,
      answer: (request, response) => {
        const isNode = request.url?.includes("node") === true;
        return (isNode ? npm : pipIndex(files))(request, response);
      },
    }),
  );
  for (const [name, code] of Object.entries(codes)) {
    const text = code.replaceAll("OTHER", `https://other.example:${other.port}`).replaceAll("URL", base());
    files[`${name}-1.0.tar.gz`] = sourceArchive(name, "1.0", text, wheel(name, "1.0"));
  }
  const caFile = join(folder, "authority.pem");
  await writeFile(caFile, certificate);
  await writeFile(join(folder, "pip.conf"), `[global]\nindex-url = ${base()}/simple/\n`);
  await writeFile(join(folder, ".npmrc"), `registry=${base()}/\n`);
  const own = hostFiles({ HOME: folder, PIP_CONFIG_FILE: join(folder, "pip.conf") }, checkAllowRule);
  const text = async (path: string) => (path.startsWith(folder) ? own.text(path) : undefined);
  const registries = await readRegistries({ ...own, text });
  const kept = opened.move();
  return {
    ...{ registries, host, other, network: { dnsServers: [dns.address], caFile } },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
