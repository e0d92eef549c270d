import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { hostWorld } from "../../packages/server/src/egress/host-world.ts";
import { UpstreamTrust } from "../../packages/server/src/egress/inspection/upstream-trust.ts";
import { openRegistryWay } from "../../packages/server/src/egress/registry-way.ts";
import { collectImage, findManifest } from "../../packages/server/src/registries/find-image.ts";
import { readLayers } from "../../packages/server/src/registries/read-layers.ts";
import { parseReference } from "../../packages/server/src/registries/reference.ts";
import { RegistryClient } from "../../packages/server/src/registries/registry-client.ts";
import { RegistrySource } from "../../packages/server/src/registries/registry-source.ts";
import { Staging } from "../../packages/server/src/registries/staging.ts";
import { platform } from "./made-image.ts";
import { type Listing, listTar } from "./read-back.ts";

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** A server that answers as a test says, and remembers what it was asked. */
export class LoopbackServer implements AsyncDisposable {
  readonly asked: { url: string; authorization: string | undefined; range: string | undefined }[] = [];
  readonly #server: Server;

  private constructor(answer: RequestHandler) {
    this.#server = createServer((request, response) => {
      const { authorization, range } = request.headers;
      this.asked.push({ url: request.url ?? "", authorization, range });
      answer(request, response);
    });
  }

  static async open(answer: RequestHandler): Promise<LoopbackServer> {
    const opened = new LoopbackServer(answer);
    await new Promise<void>((done) => opened.#server.listen(0, "127.0.0.1", done));
    return opened;
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}

export interface PullOptions {
  /** As an operator names them. */
  registries: readonly string[];
  credentials?: string;
  signal?: AbortSignal;
}

/** As a pull does it, without what comes after the tree. */
export async function pull(
  parent: string,
  text: string,
  { registries, credentials, signal = new AbortController().signal }: PullOptions,
): Promise<{ digest: string; manifestDigest: string | null; tree: Listing }> {
  const way = openRegistryWay({ world: hostWorld(), trust: new UpstreamTrust(), registries });
  const reference = parseReference(text);
  await using staging = await Staging.open(parent);
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const client = new RegistryClient({ way, reference, credentials: credentials ?? null, signal: either, waitMs: 1 });
  const source = new RegistrySource(client, staging);
  const manifest = await findManifest(source, await source.start(reference), platform);
  const found = await collectImage(source, manifest, () => stop.abort());
  const { digest, manifestDigest, tar } = await readLayers(found, platform);
  return { digest, manifestDigest, tree: await listTar(tar()) };
}
