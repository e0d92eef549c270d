import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { Caisson, type ServerInfo } from "@caisson/sdk";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { plainConfig } from "../../packages/server/src/core/image-record.ts";
import type { Role } from "../../packages/server/src/core/scope.ts";
import { ordinary, root } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { admin } from "../images/fixture.ts";
import { reachableRegistries } from "../packages/can-get.ts";
import { ownPackages, placeRuntimeImage, removeLayers } from "./runtime-image.ts";

const { pip, npm } = ordinary ? { pip: false, npm: false } : await reachableRegistries();
/** False where packages cannot be installed, or the image cannot be made. */
export const canHost = pip && npm;

export interface Hosting extends AsyncDisposable {
  server: TestServer;
  /** A folder to upload from. */
  folder: string;
  key(role: Role, namespace?: string, scopes?: readonly string[]): Promise<string>;
  sdk(key: string): Caisson;
  /** The command line with that key; rejects unless it ends with 0. */
  caisson(key: string, ...args: readonly string[]): Promise<string>;
  /** Deploys with the command line, and finds the server that it names. */
  deploy(key: string, ...args: readonly string[]): Promise<ServerInfo>;
}

/** A daemon's doors over everything real: the image mcp-runtime, and packages of this machine's registries. */
export async function openHosting(engine: EngineName): Promise<Hosting> {
  const { registries } = await ownPackages();
  const image = { name: "", layerId: "" as string | null };
  const server = await openTestServer(engine, {
    prepare: async (home) => Object.assign(image, await placeRuntimeImage(home)),
    leavesLayers: true,
    packages: { registries, mustPin: false },
  });
  const { images } = server;
  const id = "0000000000000001";
  const data = { image_id: id, name: image.name, bytes: 0 };
  await images.insert(
    {
      ...{ id, name: image.name, aliases: [], description: "", source: "catalogue", digest: "made before" },
      ...{ layerId: image.layerId, config: plainConfig, bytes: 0, state: "ready", step: null, error: null },
      ...{ createdAtMs: Date.now(), createdBy: "test" },
    },
    { type: "image.ready", by: admin, data },
  );
  const folder = await mkdtemp("/var/tmp/caisson-hosting-");
  const keys: string[] = [];
  const caisson = async (key: string, ...args: readonly string[]) => {
    const own = { CAISSON_URL: server.base, CAISSON_API_KEY: key, CAISSON_HOME: join(folder, "home"), HOME: folder };
    const env = { PATH: process.env.PATH, ...own };
    const { stdout } = await promisify(execFile)(join(root, "caisson"), args, { env, cwd: folder });
    return stdout;
  };
  const sdk = (key: string) => new Caisson({ url: server.base, key });
  return {
    ...{ server, folder, caisson, sdk },
    key: async (role, namespace = "default", scopes) => {
      const { token } = await server.keyring.issue({ name: role, namespace, role, ...(scopes && { scopes }) } as never);
      keys.push(token);
      return token;
    },
    deploy: async (key, ...args) => {
      const [id = ""] = (await caisson(key, "deploy", ...args)).split("\n");
      return sdk(key).servers.get(id);
    },
    [Symbol.asyncDispose]: async () => {
      for (const key of keys) {
        const { servers } = sdk(key);
        for (const { id: left } of await servers.list().catch(() => []))
          await servers.delete(left).catch(() => undefined);
      }
      await images.forget(id);
      await removeLayers(server);
      await server[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

/** Code blocks of one language, in their order. */
export function codeBlocks(markdown: string, language: string): string[] {
  return [...markdown.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].flatMap(([, name, code = ""]) =>
    name === language ? [code] : [],
  );
}

/** Files of an upload, in a folder of their own. */
export async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
}
