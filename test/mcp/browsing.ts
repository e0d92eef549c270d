import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, expect } from "vitest";
import type { PackageSettings } from "../../packages/server/src/compose/service-parts.ts";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { certificate } from "../egress/certificate.ts";
import { publicWorld, type WebHost, webHost } from "../egress/hosts.ts";
import type { Api } from "../http/api.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { admin, logOf } from "../images/fixture.ts";
import { madePages } from "../web/made-pages.ts";
import { connectClient } from "./client.ts";

export const site = "http://allowed.example";

export interface Browsed {
  // biome-ignore lint/suspicious/noExplicitAny: whatever the tool gives
  result: any;
  isError: boolean;
  /** Of what is shown first: the result, or why there is none. */
  text: string;
  images: { mimeType: string; data: string }[];
}

/** A daemon whose image `host` has a browser, a site on loopback that every name leads to, and a client. */
export interface Browsing extends AsyncDisposable {
  server: TestServer;
  host: WebHost;
  secureHost: WebHost;
  operator: Api;
  allow(rules: unknown[], more?: object): Promise<unknown>;
  browse(input: object, client?: Client, signal?: AbortSignal): Promise<Browsed>;
  connect(namespace: string): Promise<Client>;
}

/** For the tests of one describe: the field is there once they run. */
export function browsingOn(engine: EngineName): { field: Browsing; folder: string } {
  const opened = {} as { field: Browsing; folder: string };
  beforeAll(async () => {
    opened.folder = await mkdtemp("/var/tmp/caisson-test-");
    opened.field = await openBrowsing(engine, opened.folder);
    await opened.field.allow(["allowed.example:80"]);
  });
  afterAll(async () => {
    await opened.field?.[Symbol.asyncDispose]();
    await rm(opened.folder, { recursive: true, force: true });
    expect(opened.field.server.errors).toEqual([]);
  });
  return opened;
}

/** With `packages` it is the image of the catalogue that is brought and used, from this machine's own registries. */
export async function openBrowsing(engine: EngineName, folder: string, packages?: PackageSettings): Promise<Browsing> {
  await using opened = new AsyncDisposableStack();
  const answer: Parameters<typeof webHost>[0] = {
    answer: ({ url = "", headers }, response) => {
      if (url === "/never") return;
      const page = madePages[url] ?? { body: `nothing at ${headers.host}${url}`, status: 404 };
      response.writeHead(page.status ?? 200, { "content-type": page.type ?? "text/html", ...page.headers });
      response.end(page.body);
    },
  };
  const host = opened.use(await webHost(answer));
  const secureHost = opened.use(await webHost({ ...answer, tls: true }));
  const caFile = join(folder, "host.pem");
  await writeFile(caFile, certificate);
  const more = packages === undefined ? { browserImage: "host" } : { packages };
  const world = publicWorld((port) => (port === 443 ? secureHost.port : host.port));
  const server = opened.use(await openTestServer(engine, { ...more, world, network: { caFile } }));
  if (packages !== undefined) {
    const { record } = await server.imageBuilds.importFromCatalogue(admin, "browser");
    expect((await logOf(server, record.id)).at(-1)).toMatchObject({ state: "ready", error: null });
    opened.defer(async () => {
      for (const { id } of await server.fleet.list(admin, { limit: 100 })) await server.fleet.destroy(admin, id);
      await server.imageBuilds.delete(admin, record.id);
    });
  }
  const operator = await server.as("operator");
  const clients = opened.use(new AsyncDisposableStack());
  const connect = async (namespace: string) => {
    const client = await connectClient(server, "2026-07-28", { namespace });
    clients.defer(() => client.close());
    return client;
  };
  const usual = await connect("default");
  const kept = opened.move();
  return {
    ...{ server, host, secureHost, operator, connect },
    allow: (rules, more = {}) => operator.send("PUT", "/api/v1/egress/policy", { json: { allow: rules, ...more } }),
    browse: async (input, client = usual, signal?) => {
      const call = { name: "browser_fetch", arguments: { ...input } };
      const { structuredContent, isError, content } = await client.callTool(call, {
        timeout: 240_000,
        ...(signal && { signal }),
      });
      const parts = content as { type: string; text?: string; mimeType?: string; data?: string }[];
      const images = parts.filter(({ type }) => type === "image") as Browsed["images"];
      return { result: structuredContent, isError: isError === true, text: parts[0]?.text ?? "", images };
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
