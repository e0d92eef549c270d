import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { expect, vi } from "vitest";
import type { Service } from "../../packages/server/src/compose/service.ts";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import type { JournalEvent } from "../../packages/server/src/core/journal.ts";
import type { LayerId } from "../../packages/server/src/core/layer.ts";
import type { LayerBuilder } from "../../packages/server/src/core/layer-builder.ts";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import type { Role } from "../../packages/server/src/core/scope.ts";
import type { DeployRequest, ServerConfig, ServerVersion } from "../../packages/server/src/core/server.ts";
import type { LinkFor, ServerLink } from "../../packages/server/src/core/server-link.ts";
import { HttpPeer } from "../../packages/server/src/servers/check/http-peer.ts";
import { StdioPeer } from "../../packages/server/src/servers/check/stdio-peer.ts";
import type { VersionBuilder } from "../../packages/server/src/servers/version-builder.ts";
import { openDeployment } from "../fleet/deployment.ts";
import { makeHome, settings } from "../fleet/fixture.ts";
import { engines, soak } from "../harness.ts";
import { madeServer } from "./made-server.ts";
import { buildPythonRoot } from "./python-root.ts";

export interface TestServers extends Service {
  /** Its data folder. */
  home: string;
  events: JournalEvent[];
  errors: unknown[];
  builds: number[];
}

/** Engines of tests that do not depend on them: both in a soak. The quick start is followed on both. */
export const enginesOfServers = soak ? engines : engines.slice(0, 1);

export interface ServersHome extends AsyncDisposable {
  home: string;
  open(): Promise<TestServers>;
}

export function callerOf(namespace = "default", role: Role = "operator"): Caller {
  return { principal: { id: `${role}-${namespace}`, name: role, namespace, role }, requestId: "request" };
}

export const anybody: LinkFor = { principal: "key-1", capabilities: "none" };

/** An upload whose text is the words of the version's command. */
export async function* uploadOf(words: readonly string[]): AsyncGenerator<Uint8Array> {
  yield Buffer.from(JSON.stringify(words));
}

/** Makes versions of uploads that hold nothing but the words of a command: all of them have the same server in their layer. */
export function madeBuilder(
  layers: LayerBuilder,
  root: { id: Promise<LayerId> | undefined },
  builds: number[],
): VersionBuilder {
  const digest = (value: unknown) => createHash("sha256").update(JSON.stringify(value)).digest("hex");
  return {
    spool: async (path, archive) => {
      const bytes = Buffer.concat(await Array.fromAsync(archive));
      await writeFile(path, bytes);
      return { sha256: digest(bytes.toString()) };
    },
    digests: async ({ source, archiveDigest, command }) => ({
      sourceDigest: archiveDigest ?? digest(source),
      inputsDigest: digest([source, archiveDigest, command]),
    }),
    build: async (_caller, { source, archive }, { step, log }) => {
      builds.push(Date.now());
      step("unpack");
      log("unpacked\n");
      const words: string[] = archive === undefined ? [] : JSON.parse(await readFile(archive, "utf8"));
      if (words[0] === "broken") throw new Error("unpack: the archive is broken");
      root.id ??= buildPythonRoot(layers, { "server.py": madeServer });
      const layerId = await root.id;
      const resolved = { manager: "pip", name: "mcp", version: words[0] ?? "1", sha256: null, claimed: true } as const;
      return { layerId, bytes: 1, command: ["python3", "server.py", ...words], packages: [resolved], source };
    },
  };
}

/** One daemon after the other in one data folder, with everything but its doors. */
export async function makeServersHome(engine: EngineName): Promise<ServersHome> {
  const made = await makeHome();
  const root: { id: Promise<LayerId> | undefined } = { id: undefined };
  return {
    home: made.home,
    open: async () => {
      const events: JournalEvent[] = [];
      const errors: unknown[] = [];
      const builds: number[] = [];
      const service = await openDeployment(made.home, {
        settings: { ...settings, engine },
        onEvent: (event) => void events.push(event),
        onError: (error) => void errors.push(error),
        versionBuilder: (layers) => madeBuilder(layers, root, builds),
        caisson: { network: { enabled: true } },
      });
      return { ...service, home: made.home, events, errors, builds };
    },
    [Symbol.asyncDispose]: () => made[Symbol.asyncDispose](),
  };
}

/** A daemon in a data folder of its own; at its end its servers go, and nothing may have failed behind anybody's back. */
export async function openServers(engine: EngineName = "container"): Promise<TestServers> {
  const home = await makeServersHome(engine);
  const service = await home.open();
  return {
    ...service,
    [Symbol.asyncDispose]: async () => {
      await removeAll(service);
      expect(service.errors).toEqual([]);
      await service[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

interface Deploy extends Partial<Omit<DeployRequest, "config" | "source">> {
  config?: Partial<ServerConfig>;
  caller?: Caller;
}

const config = { image: "host" };

/** Deploys, and waits until the version is ready or has failed. */
export async function deploy(
  { servers }: Pick<Service, "servers">,
  words: readonly string[],
  { caller = callerOf(), config: asked, name = "made", ...rest }: Deploy = {},
): Promise<ServerVersion> {
  const request: DeployRequest = { name, source: { kind: "archive" }, config: { ...config, ...asked }, ...rest };
  const { server, version } = await servers.deploy(caller, request, uploadOf(words));
  const { signal } = new AbortController();
  for await (const message of servers.buildLog(caller, server.id, version.number, signal))
    if (message.type === "end") break;
  return await vi.waitFor(async () => {
    const now = await servers.version(caller, server.id, version.number);
    if (now.state !== "ready" && now.state !== "failed") throw new Error(now.state);
    return now;
  });
}

/** Calls a tool over a link, and returns its text. */
export async function callOver(
  { carrier, contact }: ServerLink,
  name: string,
  args: Record<string, unknown> = {},
): Promise<string> {
  const params = { name, arguments: args };
  if (carrier.kind === "stdio") return textOf(await stdioOf(carrier).ask("tools/call", params));
  const peer = new HttpPeer(carrier.dial, carrier.host, contact.path);
  return textOf(await peer.ask("tools/call", params));
}

const peers = new WeakMap<object, StdioPeer>();

function stdioOf(carrier: Extract<ServerLink["carrier"], { kind: "stdio" }>): StdioPeer {
  const found = peers.get(carrier.output) ?? new StdioPeer(carrier.input, carrier.output);
  peers.set(carrier.output, found);
  return found;
}

function textOf(answer: Awaited<ReturnType<HttpPeer["ask"]>>): string {
  if ("error" in answer) throw new Error(answer.error.message);
  const [first] = answer.result.content as { text: string }[];
  return first?.text ?? "";
}

/** Connects, calls a tool, and releases. */
export async function callTool(
  { serverPool, servers }: Pick<Service, "serverPool" | "servers">,
  tool: string,
  args: Record<string, unknown> = {},
  { name = "made", caller = callerOf(), who = anybody }: { name?: string; caller?: Caller; who?: LinkFor } = {},
): Promise<string> {
  const { id } = await servers.get(caller, name);
  const link = await serverPool.connect(caller, id, who, AbortSignal.timeout(60_000));
  try {
    return await callOver(link, tool, args);
  } finally {
    link.release();
  }
}

/** Deletes every server, with all that it left. */
export async function removeAll({ servers, serverBook }: Pick<Service, "servers" | "serverBook">): Promise<void> {
  for (const { id, namespace } of serverBook.all()) await servers.delete(callerOf(namespace), id);
}

/** All that an iterable of text gives. */
export async function readAll(texts: AsyncIterable<string>): Promise<string> {
  return (await Array.fromAsync(texts)).join("");
}
