import { expect, it } from "vitest";
import { AppError } from "../core/errors.ts";
import type { Caller } from "../core/principal.ts";
import type { ServerConfig, ServerRecord, ServerVersion } from "../core/server.ts";
import { type DeployParts, Deploys } from "./deploys.ts";

const principal = { id: "key", name: "key", namespace: "default", role: "agent" } as const;
const version = { serverId: "0000000000000001", number: 1, state: "building" } as ServerVersion;

/** Messages of a build whose image is found like this. */
async function messagesOf(image: DeployParts["image"]) {
  const book = { byId: () => undefined, changeVersion: async () => version };
  await using deploys = new Deploys({ book, image, onError: expect.unreachable } as unknown as DeployParts);
  deploys.make({
    ...{ caller: { principal, requestId: "request" }, version, upload: undefined },
    server: { id: version.serverId } as ServerRecord,
    request: { source: { kind: "npm", package: "echo", version: "" }, config: {} },
    place: new DisposableStack(),
    configThen: () => ({ image: "tools" }) as ServerConfig,
  });
  return await Array.fromAsync(deploys.follow(version, new AbortController().signal));
}

it("a build shows each step of an image that it waits for, once", async () => {
  const image = async ({ told, gone }: Caller) => {
    for (const step of ["debian", "debian", "pip"]) told?.(`image tools: ${step}\n`);
    expect(gone?.aborted).toBe(false);
    throw new AppError("invalid", "the image is broken", { hint: "use another" });
  };
  expect(await messagesOf(image)).toEqual([
    { type: "step", step: "image" },
    { type: "log", data: "image tools: debian\n" },
    { type: "log", data: "image tools: pip\n" },
    { type: "end", state: "failed", step: "image", error: "image: the image is broken (use another)" },
  ]);
});
