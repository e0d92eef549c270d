import { mkdtemp, rm } from "node:fs/promises";
import type { RequestListener } from "node:http";
import type { Service } from "../../packages/server/src/compose/service.ts";
import type { AptSources } from "../../packages/server/src/core/apt.ts";
import type { StepProgress } from "../../packages/server/src/core/build-script.ts";
import { toCommand } from "../../packages/server/src/core/command.ts";
import type { RuleDraft } from "../../packages/server/src/core/egress-policies.ts";
import type { FleetSettings } from "../../packages/server/src/core/fleet.ts";
import type { CatalogueEntry } from "../../packages/server/src/core/image-spec.ts";
import type { JournalEvent } from "../../packages/server/src/core/journal.ts";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import type { LogMessage } from "../../packages/server/src/images/image-builds.ts";
import { noRegistries } from "../../packages/server/src/package-install/read-registries.ts";
import { dnsHost, type WebHost, webHost } from "../egress/hosts.ts";
import { names } from "../egress/rules.ts";
import { openDeployment } from "../fleet/deployment.ts";
import { settings } from "../fleet/fixture.ts";
import { makeRepository } from "./made-repository.ts";

export const admin: Caller = {
  principal: { id: "key-admin", name: "admin", namespace: "default", role: "admin" },
  requestId: "request",
};
export const command = (line: string) => toCommand({ what: { line } });

/** Progress that nobody follows. */
export const silent: StepProgress = {
  log: { write: async () => undefined },
  signal: new AbortController().signal,
  begin: async () => undefined,
};

/** The registries of one machine, for daemons in this process and in others. */
export interface TestRegistries extends AsyncDisposable {
  apt: AptSources;
  dns: string;
  host: WebHost;
}

/** With `hold`, a package is sent once that has resolved. */
export async function openRegistries(hold?: Promise<unknown>): Promise<TestRegistries> {
  const folder = await mkdtemp("/var/tmp/caisson-test-");
  const repository = await makeRepository(folder);
  const answer: RequestListener = async (request, response) => {
    if (request.url?.endsWith(".deb")) await hold;
    repository.answer(request, response);
  };
  const [dns, host] = await Promise.all([dnsHost(names), webHost({ answer })]);
  return {
    apt: repository.sources("allowed.example", host.port),
    dns: dns.address,
    host,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([dns[Symbol.asyncDispose](), host[Symbol.asyncDispose]()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export interface TestImages extends Service {
  events: JournalEvent[];
  errors: unknown[];
}

export async function openImages(
  home: string,
  { apt, dns }: Pick<TestRegistries, "apt" | "dns">,
  {
    catalogue = [],
    imageRegistries = [],
    pulls = [],
    keepBytes = 0,
    allow = [],
    ...changed
  }: Partial<FleetSettings> & {
    catalogue?: readonly CatalogueEntry[];
    imageRegistries?: readonly string[];
    pulls?: readonly string[];
    keepBytes?: number;
    /** What all sandboxes may reach. */
    allow?: readonly RuleDraft[];
  } = {},
): Promise<TestImages> {
  const errors: unknown[] = [];
  const events: JournalEvent[] = [];
  const service = await openDeployment(home, {
    caisson: { network: { dnsServers: [dns], allow } },
    onEvent: (event) => void (event.type.startsWith("image.") && events.push(event)),
    settings: { ...settings, ...changed },
    packages: { registries: noRegistries, apt, catalogue, imageRegistries, pulls, mustPin: false, keepBytes },
    onError: (error) => void errors.push(error),
  });
  return { ...service, events, errors };
}

/** All that is said of an image until its making has ended. */
export function logOf({ imageBuilds }: Pick<Service, "imageBuilds">, id: string): Promise<LogMessage[]> {
  return Array.fromAsync(imageBuilds.log(id, new AbortController().signal));
}

export async function runIn(service: Service, image: string, engine: "container" | "gvisor", line: string) {
  const { record } = await service.create(admin, { image, engine });
  try {
    const done = await service.fleet.run(admin, record.id, command(line), {}, (sandbox) => sandbox.run());
    return { ...done, record };
  } finally {
    await service.fleet.destroy(admin, record.id);
  }
}
