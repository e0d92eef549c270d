import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { caisson, Up, upTimeoutMs } from "../daemon/up.ts";
import { engines } from "../harness.ts";

const [engine = "container"] = engines;

describe("the command line of a daemon", { timeout: upTimeoutMs }, () => {
  let up: Up;
  beforeAll(async () => {
    up = await Up.start({ variables: { CAISSON_ENGINE: engine, CAISSON_WEBHOOKS_ALLOW_PRIVATE: "true" } });
  }, upTimeoutMs);
  afterAll(() => up[Symbol.asyncDispose](), upTimeoutMs);

  const type = (...words: string[]) => caisson(words, up.variables);
  /** What a command printed, which had to succeed. */
  const said = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await type(...words);
    expect(`${code} ${stderr}`, words.join(" ")).toBe("0 ");
    return stdout.trim();
  };
  const told = async (...words: string[]) => JSON.parse(await said(...words, "--json"));
  const refused = async (...words: string[]) => {
    const { stdout, ...rest } = await type(...words);
    expect(stdout).toBe("");
    return rest;
  };

  it("[CLI-01] makes folders, moves and removes files of a sandbox, and says what cannot be", async () => {
    const id = await said("create");
    const names = async (path = ".") => (await told("files", "ls", id, path)).map(({ name }: { name: string }) => name);
    expect(await said("files", "mkdir", id, "a/b")).toBe("");
    expect(await told("files", "mkdir", id, "a/c")).toEqual({});
    expect(await names("a")).toEqual(["b", "c"]);
    await said("exec", id, "echo text >a/b/file");
    expect(await said("files", "mv", id, "a/b/file", "moved")).toBe("");
    expect(await told("files", "mv", id, "a/b", "d")).toEqual({});
    expect(await said("files", "cat", id, "moved")).toBe("text");
    expect([await names("a"), await names("d")]).toEqual([["c"], []]);
    expect(await said("files", "rm", id, "a")).toBe("");
    expect(await told("files", "delete", id, "moved")).toEqual({});
    expect((await names()).sort()).toEqual(["d", "output"]);

    await said("exec", id, "touch file");
    const missing = "caisson: nowhere: no such file or folder\n";
    for (const [words, code, stderr] of [
      [["mkdir", id, "file"], 125, "caisson: file: it exists already\n"],
      [["mv", id, "nowhere", "x"], 2, missing],
      [["rm", id, "nowhere"], 2, missing],
    ] as const)
      expect(await refused("files", ...words)).toEqual({ code, stderr });
    for (const [words, word, usage] of [
      [["mkdir", id], "PATH", "mkdir SANDBOX PATH"],
      [["rm", id], "PATH", "rm SANDBOX PATH"],
      [["mv", id, "file"], "TO", "mv SANDBOX FROM TO"],
    ] as const)
      expect(await refused("files", ...words)).toEqual({
        code: 2,
        stderr: `caisson: missing ${word}\n  hint: caisson files ${usage}\n`,
      });
    expect(await names()).toEqual(["d", "file", "output"]);
    await said("rm", id);
  });

  it("[CLI-01] changes limits, timers, labels and description of a sandbox, and none past its cap", async () => {
    const id = await said("create", "--memory", "64M", "--description", "first words");
    expect(await said("ls")).toMatch(/ first words$/m);
    expect(await told("update", id, "--description", "others")).toMatchObject({ description: "others" });
    expect(await said("update", id, "--memory", "96M", "--label", "made=here")).toMatch(/\nmemory_mb +96\n/);
    expect(await told("update", id, "--idle", "90", "--processes", "20")).toMatchObject({ id, memory_mb: 96 });
    expect(await told("inspect", id)).toMatchObject({
      ...{ memory_mb: 96, max_processes: 20, idle_timeout_seconds: 90, labels: { made: "here" } },
    });
    expect(await refused("update", id, "--memory", "9G")).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^caisson: body\.memory_mb: exceeds the maximum/),
    });
    expect(await refused("update", "--memory", "96M")).toEqual({
      code: 2,
      stderr: "caisson: missing SANDBOX\n  hint: caisson update SANDBOX\n",
    });
    expect(await refused("update", "aaaaaaaaaaaaaaaa", "--idle", "90")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("\n  hint: caisson ls lists sandboxes\n"),
    });
    expect(await told("rm", id)).toEqual({});
  });

  it("[CLI-01] makes webhooks, tells what became of what was sent, tries again, and deletes them", async () => {
    const got: string[] = [];
    const statuses = [410];
    const receiver = createServer(async (request, response) => {
      got.push((await request.setEncoding("utf8").toArray()).join(""));
      response.writeHead(statuses.shift() ?? 200).end();
    });
    receiver.listen(0, "127.0.0.1");
    await once(receiver, "listening");
    try {
      const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
      const line = await said("webhook", "create", url, "--type", "sandbox.created", "--type", "sandbox.destroyed");
      const [hook = ""] = line.split(" ");
      expect(line).toMatch(/^\S+ whsec_\S+$/);
      const other = await told("webhook", "create", "https://example.com/hook", "--type", "key.created");
      expect(other).toMatchObject({ types: ["key.created"], secret: expect.stringMatching(/^whsec_/) });
      expect(await said("webhook", "list")).toMatch(
        new RegExp(`^ID .*\\n.*${hook} .*  sandbox.created,sandbox.destroyed +${url}(\\n|$)`, "s"),
      );
      expect((await told("webhook", "ls")).map(({ id }: { id: string }) => id).sort()).toEqual([hook, other.id].sort());

      const id = await said("create");
      const delivery = await vi.waitFor(async () => {
        const [one] = await told("webhook", "deliveries", hook);
        expect(one).toMatchObject({ type: "sandbox.created", state: "dead", attempts: 1 });
        return one.id as string;
      }, 30_000);
      expect(await said("webhook", "deliveries", hook)).toMatch(
        new RegExp(`^ID .*\\n${delivery} +dead +1 +sandbox.created +answered 410`),
      );
      expect(await said("webhook", "retry", hook, delivery)).toBe("");
      await vi.waitFor(
        async () => expect(await told("webhook", "deliveries", hook)).toMatchObject([{ state: "delivered" }]),
        30_000,
      );
      expect(got.length).toBe(2);
      expect(got[1]).toBe(got[0]);
      expect(JSON.parse(got[0] ?? "")).toMatchObject({ type: "sandbox.created", sandbox_id: id });
      expect((await refused("webhook", "retry", hook, delivery)).code).not.toBe(0);
      await said("rm", id);

      expect(await said("webhook", "rm", hook)).toBe("");
      expect(await told("webhook", "delete", other.id)).toEqual({});
      expect(await told("webhook", "list")).toEqual([]);
    } finally {
      receiver.close();
      receiver.closeAllConnections();
    }
  });

  it("[CLI-01] says of a webhook what is wrong with it, and where the others are", async () => {
    expect(await refused("webhook", "create", "ftp://example.com/")).toEqual({
      code: 2,
      stderr: "caisson: body.url: must be an http or https URL\n",
    });
    for (const words of [
      ["rm", "none"],
      ["deliveries", "none"],
      ["retry", "none", "x"],
    ])
      expect(await refused("webhook", ...words)).toEqual({
        code: 2,
        stderr: "caisson: unknown webhook none\n  hint: caisson webhook list lists webhooks\n",
      });
    expect(await refused("webhook", "retry", "none")).toEqual({
      code: 2,
      stderr: "caisson: missing DELIVERY\n  hint: caisson webhook retry ID DELIVERY\n",
    });
    expect((await refused("webhook", "make")).stderr).toContain("\n  hint: ");
  });
});
