import { Caisson } from "@caisson/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { noRegistries } from "../../packages/server/src/package-install/read-registries.ts";
import { ordinary } from "../harness.ts";
import { LoopbackServer } from "../oci/loopback-registry.ts";
import { dockerArchive, file, makeImage, makeTar, sha256 } from "../oci/made-image.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

const layers = [makeTar([file("opt/here", "of an image\n")])];
const made = makeImage({ layers, config: { Cmd: ["/opt/here"], User: "nobody", Env: ["SECRET=x"] } });
const blobs = new Map([made.config, ...made.layers].map(({ bytes }) => [sha256(bytes), bytes]));

describe.skipIf(ordinary)("images of others, over HTTP", () => {
  let registry: LoopbackServer;
  let server: TestServer;
  let admin: Api;
  beforeAll(async () => {
    registry = await LoopbackServer.open(({ url = "", headers }, response) => {
      if (url.startsWith("/v2/closed/") && headers.authorization !== `Basic ${btoa("me:swordfish")}`)
        return response.writeHead(401, { "www-authenticate": "Basic" }).end();
      if (url.includes("/manifests/"))
        return response.writeHead(200, { "content-type": made.manifest.mediaType }).end(made.manifest.bytes);
      return response.end(blobs.get(url.split("/").at(-1) ?? ""));
    });
    const imageRegistries = [`http://${registry.host}`];
    server = await openTestServer("container", {
      packages: { registries: noRegistries, mustPin: false, imageRegistries },
    });
    admin = await server.as("admin");
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await registry?.[Symbol.asyncDispose]();
  });

  const ended = async (id: string) => {
    await admin.send("GET", `/api/v1/images/${id}/log`);
    return (await admin.send("GET", `/api/v1/images/${id}`)).json;
  };
  const remove = (id: string) => admin.send("DELETE", `/api/v1/images/${id}`);

  it("an archive is a body, and becomes an image", async () => {
    const archive = dockerArchive({ layers, config: { Cmd: ["/opt/here"], User: "nobody", Env: ["SECRET=x"] } });
    const sent = { body: archive, headers: { "content-type": "application/x-tar" } };
    const taken = await admin.send("POST", "/api/v1/images/archive?name=from-http", sent);
    expect(taken.status).toBe(202);
    expect(taken.headers.get("location")).toBe(`/api/v1/images/${taken.json.id}`);
    expect(await ended(taken.json.id)).toMatchObject({
      ...{ name: "from-http", source: "oci", state: "ready", digest: sha256(made.config.bytes) },
      ...{ cmd: ["/opt/here"], user: "nobody", env_names: ["SECRET"] },
    });
    expect(await admin.send("POST", "/api/v1/images/archive?name=from-http", sent)).toMatchObject({ status: 200 });
    await remove(taken.json.id);
  });

  it("a reference is pulled, with credentials of the vault where they are named", async () => {
    await server.vault.put(
      { principal: { id: "x", name: "x", namespace: "default", role: "admin" }, requestId: "x" },
      { name: "REGISTRY", value: Buffer.from("me:swordfish") },
    );
    const reference = `${registry.host}/closed/made:1`;
    const closed = await admin.send("POST", "/api/v1/images", { json: { reference } });
    expect(closed).toMatchObject({ status: 403, json: { code: "forbidden" } });
    const json = { reference, credentials: "REGISTRY", name: "closed" };
    const taken = await admin.send("POST", "/api/v1/images", { json });
    expect(taken.status).toBe(202);
    expect(await ended(taken.json.id)).toMatchObject({ state: "ready", name: "closed" });
    expect(JSON.stringify(await server.store.audit.search({ after: 0, limit: 1_000 }))).not.toContain("swordfish");
    await remove(taken.json.id);
  });

  it("is for administrators alone", async () => {
    for (const role of ["operator", "agent", "viewer"] as const) {
      const api = await server.as(role);
      const archive = { body: dockerArchive({ layers }), headers: { "content-type": "application/x-tar" } };
      expect(await api.send("POST", "/api/v1/images/archive", archive)).toMatchObject({ status: 403 });
      const json = { reference: `${registry.host}/made` };
      expect(await api.send("POST", "/api/v1/images", { json })).toMatchObject({ status: 403 });
    }
  });

  it("refuses what is none, and says why", async () => {
    const send = (body: string) =>
      admin.send("POST", "/api/v1/images/archive?name=x", { body, headers: { "content-type": "application/x-tar" } });
    expect(await send("hello")).toMatchObject({ status: 400, json: { code: "invalid" } });
    const bad = (json: object) => admin.send("POST", "/api/v1/images", { json, bad: true });
    expect(await bad({ reference: "UPPER" })).toMatchObject({ status: 400, json: { code: "invalid" } });
    expect(await bad({ reference: "x", spec: "name: y" })).toMatchObject({ status: 400 });
    expect(await bad({ catalogue: "x", credentials: "y" })).toMatchObject({ status: 400 });
    expect(await bad({ reference: "127.0.0.1:1/x" })).toMatchObject({ status: 403, json: { code: "forbidden" } });
  });

  it("the client has them too", async () => {
    const client = new Caisson({ url: server.base, key: admin.headers["x-api-key"] ?? "" });
    const loaded = await client.images.load(dockerArchive({ layers }, "by/the-client:1"));
    for await (const message of client.images.log(loaded.id))
      if (message.type === "end") expect(message.state).toBe("ready");
    const pulled = await client.images.import({ reference: `${registry.host}/open/made:1` });
    for await (const message of client.images.log(pulled.id))
      if (message.type === "end") expect(message.state).toBe("ready");
    expect((await client.images.get("by/the-client:1")).state).toBe("ready");
    await client.images.delete(loaded.id);
    await client.images.delete(pulled.id);
  });
});
