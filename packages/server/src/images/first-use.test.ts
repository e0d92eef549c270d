import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { chooseImage } from "../core/choose-image.ts";
import { AppError } from "../core/errors.ts";
import { type ImageRecord, plainConfig } from "../core/image-record.ts";
import type { Caller } from "../core/principal.ts";
import { FirstUse } from "./first-use.ts";
import type { LogMessage } from "./image-builds.ts";
import { firstUseLimits } from "./limits.ts";
import { RequestableImages } from "./requestable-images.ts";

const agent: Caller = { principal: { id: "k", name: "k", namespace: "one", role: "agent" }, requestId: "r" };
const spec = { description: "", debian: [], pip: [], npm: [], files: {}, env: {}, run: [] };
const catalogue = [{ spec: { ...spec, name: "tools", aliases: ["registry.example/tools:3.12"] }, text: "" }];

/** Images that are made when a test says so. */
function madeUp({ pull = [] as string[], makesCatalogue = true, refusal = undefined as AppError | undefined } = {}) {
  const records: ImageRecord[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const asked: string[] = [];
  const begin = async (name: string, source: "catalogue" | "oci", aliases: readonly string[] = []) => {
    asked.push(name);
    if (refusal !== undefined) throw refusal;
    const id = String(asked.length);
    const record: ImageRecord = {
      ...{ id, name, aliases, description: "", source, digest: id, layerId: null, config: plainConfig },
      ...{ bytes: 0, state: "building", step: "debian: index", error: null, createdAtMs: 0, createdBy: "k" },
    };
    records.unshift(record);
    ends.set(id, Promise.withResolvers());
    return { record, isNew: true };
  };
  const end = (state: "ready" | "failed") => {
    const [record] = records;
    Object.assign(
      record ?? {},
      state === "ready" ? { state, layerId: "layer" } : { state, error: "debian: index: no" },
    );
    ends.get(record?.id ?? "")?.resolve();
  };
  async function* log(id: string): AsyncGenerator<LogMessage> {
    yield { type: "step", step: "debian: index", at: 1, of: 2 };
    await ends.get(id)?.promise;
  }
  const images = {
    list: () => records,
    get: (image: string) =>
      records.find(({ name, aliases }) => name === image || aliases.includes(image)) as ImageRecord,
    byId: (asked: string) => records.find(({ id }) => id === asked),
    choose: (image: string) => chooseImage(records, image, catalogue),
    entryOf: (image: string) => catalogue.find(({ spec }) => spec.name === image || spec.aliases.includes(image)),
  };
  const choice = new RequestableImages({
    images,
    pullable: (image) => {
      if (!image.includes(":")) return undefined;
      const reference = `docker.io/library/${image.replace(/^(docker\.io\/)?(library\/)?/, "")}`;
      const [place = ""] = reference.split(":");
      return { place, reference, isAllowed: pull.includes(place) };
    },
    makesCatalogue,
  });
  const firstUse = new FirstUse({
    ...{ images, requestable: choice },
    builds: {
      ...{ log, settled: async (id) => ends.get(id)?.promise, checkRoom: () => undefined },
      importFromCatalogue: (_, name) => begin(name, "catalogue", catalogue[0]?.spec.aliases),
    },
    pull: (_, reference) => begin(reference, "oci"),
    clock: { monotonicMs: () => performance.now() },
  });
  return { firstUse, choice, asked, end };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("an image on its first use", () => {
  it("[IMG-02] is made once for all who ask, by its name or its alias, and then chosen", async () => {
    const { firstUse, choice, asked, end } = madeUp();
    const both = [firstUse.ensure(agent, "tools"), firstUse.ensure(agent, "tools")];
    await vi.advanceTimersByTimeAsync(1);
    both.push(firstUse.ensure(agent, "registry.example/tools:3.12"));
    end("ready");
    await Promise.all(both);
    expect(asked).toEqual(["tools"]);
    expect(firstUse.ensure(agent, "registry.example/tools:3.12")).toBeUndefined();
    expect(choice.choose("registry.example/tools:3.12")).toEqual({ name: "tools", layerId: "layer" });
  });

  it("[IMG-02] is said to be under way to who has waited long enough, and goes on", async () => {
    const { firstUse, asked, end } = madeUp();
    const refused = expect(firstUse.ensure(agent, "tools")).rejects.toMatchObject({
      ...{
        code: "unavailable",
        retryAfterMs: firstUseLimits.retryMs,
        hint: expect.stringContaining("caisson image log"),
      },
      ...{
        message: "the image tools is being built (debian: index)",
        details: { image: "tools", step: "debian: index" },
      },
    });
    await vi.advanceTimersByTimeAsync(firstUseLimits.waitMs);
    await refused;
    const again = firstUse.ensure(agent, "tools");
    end("ready");
    await again;
    expect(asked).toEqual(["tools"]);
  });

  it("[IMG-02] is waited for longer by who hears each step", async () => {
    const { firstUse, end } = madeUp();
    const heard: string[] = [];
    const brought = firstUse.ensure({ ...agent, told: (message) => void heard.push(message) }, "tools");
    await vi.advanceTimersByTimeAsync(firstUseLimits.waitMs * 2);
    expect(heard).toEqual(["image tools: debian: index (1 of 2)\n"]);
    end("ready");
    await brought;
  });

  it("is not waited for by who is gone, and goes on", async () => {
    const { firstUse, choice, end } = madeUp();
    const gone = new AbortController();
    const left = firstUse.ensure({ ...agent, gone: gone.signal }, "tools");
    gone.abort(new Error("gone"));
    await expect(left).rejects.toThrow("gone");
    end("ready");
    expect(choice.choose("tools")).toMatchObject({ layerId: "layer" });
  });

  it("rests after a failure, which everybody who asks is told", async () => {
    const { firstUse, asked, end } = madeUp();
    const failed = { code: "unavailable", message: "cannot build the image tools: debian: index: no" };
    const first = expect(firstUse.ensure(agent, "tools")).rejects.toMatchObject(failed);
    await vi.advanceTimersByTimeAsync(1);
    end("failed");
    await first;
    await expect(firstUse.ensure(agent, "tools")).rejects.toMatchObject(failed);
    expect(asked).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(firstUseLimits.restMs);
    const again = firstUse.ensure(agent, "tools");
    await vi.advanceTimersByTimeAsync(1);
    end("ready");
    await again;
    expect(asked).toHaveLength(2);
  });

  it("[S97] that has no record of a failed pull rests too, by each of its names", async () => {
    const refusal = new AppError("not_found", "the registry has no library/python:3.12", { hint: "look there" });
    const { firstUse, asked } = madeUp({ pull: ["docker.io/library/python"], refusal });
    for (const image of ["python:3.12", "python:3.12", "library/python:3.12", "docker.io/library/python:3.12"])
      await expect(firstUse.ensure(agent, image)).rejects.toMatchObject({
        code: "not_found",
        message: refusal.message,
      });
    expect(asked).toEqual(["python:3.12"]);
    await expect(firstUse.ensure(agent, "docker.io/python:3.12")).rejects.toMatchObject({
      hint: "look there",
      retryAfterMs: firstUseLimits.restMs,
    });
    await vi.advanceTimersByTimeAsync(firstUseLimits.restMs);
    await expect(firstUse.ensure(agent, "python:3.12")).rejects.toThrow(refusal.message);
    expect(asked).toHaveLength(2);
  });

  it("[S97] rests by each of its names after a build that failed", async () => {
    const { firstUse, asked, end } = madeUp();
    const failed = { message: "cannot build the image tools: debian: index: no" };
    const first = expect(firstUse.ensure(agent, "tools")).rejects.toMatchObject(failed);
    await vi.advanceTimersByTimeAsync(1);
    end("failed");
    await first;
    await expect(firstUse.ensure(agent, "registry.example/tools:3.12")).rejects.toMatchObject(failed);
    expect(asked).toHaveLength(1);
  });

  it("[S97] that is refused for want of room is tried again at once", async () => {
    const refusal = new AppError("limit_exceeded", "there is no place", { retryAfterMs: 10_000 });
    const { firstUse, asked } = madeUp({ pull: ["docker.io/library/python"], refusal });
    for (let at = 0; at < 2; at++) await expect(firstUse.ensure(agent, "python:3.12")).rejects.toThrow("no place");
    expect(asked).toHaveLength(2);
  });

  it("[S97] is one image by all names of its reference, while it is pulled and then", async () => {
    const { firstUse, choice, asked, end } = madeUp({ pull: ["docker.io/library/python"] });
    const both = [firstUse.ensure(agent, "python:3.12"), firstUse.ensure(agent, "library/python:3.12")];
    await vi.advanceTimersByTimeAsync(1);
    both.push(firstUse.ensure(agent, "docker.io/library/python:3.12"));
    end("ready");
    await Promise.all(both);
    expect(asked).toEqual(["python:3.12"]);
    expect(firstUse.ensure(agent, "docker.io/library/python:3.12")).toBeUndefined();
    expect(choice.choose("docker.io/library/python:3.12")).toMatchObject({ name: "python:3.12" });
    expect(() => choice.choose("docker.io/library/python:3.11")).toThrow("unknown image");
  });

  it("[S97] is made of nothing that neither the catalogue nor images.pull names", () => {
    const closed = madeUp({ makesCatalogue: false });
    for (const image of ["tools", "python:3.12-slim", "nothing", "host"])
      expect(closed.firstUse.ensure(agent, image)).toBeUndefined();
    const some = madeUp({ pull: ["docker.io/library/python"] }).firstUse;
    for (const image of ["ubuntu:22.04", "python"]) expect(some.ensure(agent, image)).toBeUndefined();
    expect(closed.asked).toEqual([]);
    expect(() => closed.choice.choose("tools")).toThrow("unknown image");
  });

  it.each(["python:3.11-slim", "python:3.12-slim", "node:20-slim", "ubuntu:22.04"])(
    "[IMG-03] %s is pulled where images.pull names it, and otherwise refused with that setting",
    async (image) => {
      const place = `docker.io/library/${image.split(":")[0]}`;
      const refusal = () => madeUp().choice.choose(image);
      const hint = expect.stringMatching(new RegExp(`^images\\.pull in the configuration .* ${place};`));
      expect(refusal).toThrow(expect.objectContaining({ code: "not_found", hint }));
      const { firstUse, choice, asked, end } = madeUp({ pull: [place] });
      const brought = firstUse.ensure(agent, image);
      await vi.advanceTimersByTimeAsync(1);
      end("ready");
      await brought;
      expect(asked).toEqual([image]);
      expect(choice.choose(image)).toMatchObject({ name: image });
    },
  );
});
