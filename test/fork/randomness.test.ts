import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ContextLanguage } from "../../packages/server/src/core/context.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { openTestCaisson, soak, type TestCaisson } from "../harness.ts";

const python = {
  before: [
    "import os, random, secrets, ssl, tempfile, uuid",
    "random.seed(7); ssl.RAND_bytes(16); uuid.uuid4(); uuid.getnode()",
    "tempfile.NamedTemporaryFile().close()",
  ].join("\n"),
  draws: {
    "the kernel's pool": "os.urandom(16).hex()",
    random: "random.random()",
    "random.getrandbits": "random.getrandbits(64)",
    secrets: "secrets.token_hex(16)",
    OpenSSL: "ssl.RAND_bytes(16).hex()",
    uuid4: "str(uuid.uuid4())",
    uuid1: "str(uuid.uuid1())",
    "the node of uuids": "uuid.getnode()",
    "names of temporary files": "tempfile.NamedTemporaryFile().name",
    "names of temporary folders": "tempfile.mkdtemp()",
  },
};

const node = {
  before:
    "chance = require('node:crypto'); chance.randomBytes(16); chance.randomUUID(); chance.randomInt(1e9); Math.random()",
  draws: {
    "Math.random": "Math.random()",
    randomBytes: "chance.randomBytes(16).toString('hex')",
    "randomBytes, later": "await new Promise((done) => chance.randomBytes(16, (_, b) => done(b.toString('hex'))))",
    randomFillSync: "chance.randomFillSync(Buffer.alloc(16)).toString('hex')",
    randomUUID: "chance.randomUUID()",
    "randomUUID of the web": "globalThis.crypto.randomUUID()",
    randomInt: "chance.randomInt(2 ** 40)",
    getRandomValues: "Buffer.from(chance.webcrypto.getRandomValues(new Uint8Array(16))).toString('hex')",
    "a new key": "chance.generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }).d",
  },
};

/** Enough for interpreters that run, those that wait, and what goes on from saved memory holds at first. */
const limits = { memoryBytes: 1024 ** 3 };

/** Drawn after the copy was made by generators that had drawn before. */
describe("[LIF-08] chance in copies with memory", () => {
  let test: TestCaisson;
  beforeAll(async () => {
    test = await openTestCaisson();
  });
  afterAll(() => test[Symbol.asyncDispose]());

  const evaluate = async (sandbox: Sandbox, context: string, code: string) => {
    const { results, error } = await sandbox.contexts.get(context).run(code);
    expect(error).toBeUndefined();
    return results[0]?.json;
  };
  const check = async (
    original: Sandbox,
    language: ContextLanguage,
    { before, draws }: { before: string; draws: Record<string, string> },
  ) => {
    const { id } = await original.contexts.create({ language });
    await evaluate(original, id, before);
    const all = [original, ...(await test.caisson.forkSandbox(original, { count: 2 }))];
    const different: Record<string, number> = {};
    for (const [what, code] of Object.entries(draws)) {
      const drawn = new Set<unknown>();
      for (const one of all) drawn.add(JSON.stringify(await evaluate(one, id, code)));
      different[what] = drawn.size;
    }
    expect(different).toEqual(Object.fromEntries(Object.keys(draws).map((what) => [what, all.length])));
    for (const one of all) await one.destroy();
  };

  it("falls differently in Python: random, secrets, OpenSSL, uuid, tempfile", async () => {
    await check(await test.caisson.createSandbox({ engine: "gvisor" }), "python", python);
  });

  it("falls differently in Node: Math.random, and all of crypto, what it holds in store included", async () => {
    await check(await test.caisson.createSandbox({ engine: "gvisor" }), "node", node);
  });

  it.each(["python", "node"] as const)(
    "falls differently in runs of %s, whose interpreters waited for them",
    async (language) => {
      const original = await test.caisson.createSandbox({ engine: "gvisor", warm: "start", limits });
      const [code, draws] =
        language === "python"
          ? ["import random, ssl, os; print(random.random(), ssl.RAND_bytes(16).hex(), os.urandom(8).hex())", 3]
          : ["console.log(Math.random(), crypto.randomUUID(), require('crypto').randomBytes(16).toString('hex'))", 3];
      const draw = async (sandbox: Sandbox) => {
        const result = await sandbox.executeCode({ language, code });
        expect(result).toMatchObject({ exit_code: 0, stderr: "" });
        return result.stdout.trim().split(" ");
      };
      for (let calls = 0; calls < 3; calls++) expect(await draw(original)).toHaveLength(draws);
      const all = [original, ...(await test.caisson.forkSandbox(original, { count: 2 }))];
      const drawn: string[] = [];
      for (const one of all) for (let calls = 0; calls < 3; calls++) drawn.push(...(await draw(one)));
      expect(new Set(drawn).size).toBe(3 * draws * all.length);
      for (const one of all) await one.destroy();
    },
  );

  it.runIf(soak)("falls differently in numpy", async () => {
    const inputFolder = await mkdtemp("/var/tmp/caisson-numpy-");
    await promisify(execFile)("python3", ["-m", "pip", "install", "--quiet", "--target", inputFolder, "numpy"]);
    const original = await test.caisson.createSandbox({ engine: "gvisor", inputFolder });
    await check(original, "python", {
      before: "import sys; sys.path.insert(0, 'input'); import numpy; numpy.random.seed(7); numpy.random.rand()",
      draws: { rand: "numpy.random.rand()", integers: "int(numpy.random.randint(1 << 40))" },
    });
    await rm(inputFolder, { recursive: true });
  });
});
