import { expect, it } from "vitest";
import type { Caller } from "../core/principal.ts";
import { Servers, type ServersParts } from "./servers.ts";

const caller: Caller = {
  principal: { id: "key", name: "key", namespace: "default", role: "agent" },
  requestId: "request",
};

it.each(["^4", "latest", "1.x || 2"])(
  "refuses the version %j of a package before it records a server",
  async (version) => {
    const servers = new Servers({} as ServersParts);
    const deployed = servers.deploy(caller, { source: { kind: "npm", package: "express", version }, config: {} });
    await expect(deployed).rejects.toMatchObject({
      code: "invalid",
      message: `invalid version ${JSON.stringify(version)} of express`,
      hint: "name an exact version, such as npm:@scope/name@1.2.3, or none to get the newest",
    });
  },
);
