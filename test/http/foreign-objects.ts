import { vi } from "vitest";
import { archive } from "../sandbox/tar-bytes.ts";
import type { Api } from "./api.ts";
import type { TestServer } from "./server.ts";

const root = "/api/v1/sandboxes";
/** In whatever an object holds that only its namespace may see. */
export const private_ = "what-is-private";

/** Ids by the segment of a path that they stand in, with the one before it. */
export type Objects = Readonly<Record<string, string>>;

/** The id that an answer gives, where it is one of success. */
async function made(answer: ReturnType<Api["post"]>): Promise<string> {
  const { status, json } = await answer;
  if (status >= 300) throw new Error(`${status}: ${JSON.stringify(json)}`);
  return json.id;
}

/** One of each kind that a path can name, of the caller's namespace. */
export async function makeObjects(server: TestServer, api: Api, namespace: string): Promise<Objects> {
  const id = await api.create({ labels: { of: private_ }, description: private_, env: { VALUE: private_ } });
  const at = `${root}/${id}`;
  for (const path of ["SKILL.md", "output/SKILL.md"]) await api.put(`${at}/files/${path}`, private_);
  const { run_id } = (await api.post(`${at}/exec`, { command: `echo ${private_} >output/run` })).json;
  const process = await made(api.post(`${at}/processes`, { command: `echo ${private_}; sleep 1000` }));
  const context = await makeContext(api, at, namespace);
  const snapshot = await made(api.post(`${at}/snapshots`, { description: private_ }));
  const text = `---\nname: of-${namespace}\ndescription: ${private_}\n---\n`;
  const skill = await made(api.send("POST", "/api/v1/skills", { body: archive({ name: "SKILL.md", body: text }) }));
  const key = await made(api.post("/api/v1/keys", { name: private_, role: "viewer" }));
  const approval = await made(api.post("/api/v1/approvals", { host: "a.example", purpose: private_, sandbox_id: id }));
  const template = await made(api.post("/api/v1/templates", { name: `of-${namespace}`, description: private_ }));
  await vi.waitFor(async () => {
    const { state, error } = (await api.get(`/api/v1/templates/${template}`)).json;
    if (state !== "ready") throw new Error(`the template is ${state}: ${error}`);
  }, 60_000);
  return {
    "sandboxes/{id}": id,
    "runs/{run_id}": run_id,
    "processes/{process}": process,
    "contexts/{context}": context,
    "snapshots/{snapshot_id}": snapshot,
    "skills/{skill_id}": skill,
    "keys/{id}": key,
    "approvals/{id}": approval,
    "templates/{template}": template,
    ...(await makeServer(api, namespace)),
    ...(await makeSecret(api, id, namespace)),
    ...(await makeDelivery(server, api, namespace)),
    ...(await makeKept(api)),
    ...(await makeCheckpoint(api)),
  };
}

/** Contexts are counted in each sandbox: this one's number is one that no other namespace has reached. */
async function makeContext(api: Api, at: string, namespace: string): Promise<string> {
  const first = await made(api.post(`${at}/contexts`, { language: "python" }));
  return namespace === "default" ? first : made(api.post(`${at}/contexts`, { language: "python" }));
}

async function makeSecret(api: Api, sandbox: string, namespace: string): Promise<Objects> {
  const name = `OF_${namespace.toUpperCase()}`;
  await api.put(`/api/v1/secrets/${name}`, "a value that is nowhere else");
  const target = { target: { sandbox_id: sandbox }, deliver: { as: "file" } };
  const { json } = await api.post(`/api/v1/secrets/${name}/bindings`, target);
  return { "secrets/{name}": name, "bindings/{binding}": json.bindings[0].id };
}

async function makeServer(api: Api, namespace: string): Promise<Objects> {
  const source = { kind: "npm", package: `of-${namespace}`, version: "1.0.0" };
  const { json } = await api.post("/api/v1/servers", { source, env: { VALUE: private_ } });
  return { "servers/{server}": json.server.id };
}

/** One that nobody took. */
async function makeDelivery({ journal }: TestServer, api: Api, namespace: string): Promise<Objects> {
  const path = "/api/v1/webhooks";
  const webhook = await made(api.post(path, { url: "http://127.0.0.1:9/", types: ["artifacts.failed"] }));
  await journal.record({ type: "artifacts.failed", by: "system", namespace, data: { reason: private_ } });
  const delivery = await vi.waitFor(async () => {
    const [found] = (await api.get(`${path}/${webhook}/deliveries?state=dead`)).json;
    if (found === undefined) throw new Error("no delivery is dead yet");
    return found.id as string;
  }, 60_000);
  return { "webhooks/{id}": webhook, "deliveries/{delivery}": delivery };
}

/** Artifacts of a sandbox that is gone. */
async function makeKept(api: Api): Promise<Objects> {
  const id = await api.create({ keep_artifacts_seconds: 600 });
  await api.put(`${root}/${id}/files/output/SKILL.md`, private_);
  await api.delete(`${root}/${id}`);
  return { "artifacts/{id}": id };
}

/** Of a sandbox that is gone. */
async function makeCheckpoint(api: Api): Promise<Objects> {
  const id = await api.create({ engine: "gvisor" });
  const checkpoint = await made(api.post(`${root}/${id}/checkpoints`, { name: private_ }));
  await api.delete(`${root}/${id}`);
  return { "checkpoints/{checkpoint_id}": checkpoint };
}
