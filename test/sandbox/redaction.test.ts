import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { redacted } from "../../packages/server/src/core/redaction.ts";
import type { SearchMatch, SearchOptions } from "../../packages/server/src/core/search.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";

const secret = 'tok-9f!/8"q é-4711';
const named = "tok-in-a-name-4711";
const lines = "-- begin of lines --\na second line 4711\n-- end of lines --";
const size = Buffer.byteLength(secret);
const stars = "*".repeat(size);
const python = (code: string) => ["python3", "-c", code];
/** What code says to have the value: it is not in the command, which is recorded. */
const load = "import os, sys, base64, json, urllib.parse\ns = os.environ['SECRET']\n";

async function gather(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const piece of pieces) parts.push(piece);
  return Buffer.concat(parts).toString();
}

async function* gatherAll(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) yield Buffer.from(piece);
}

describe.each(engines)("a hidden value (%s)", (engine) => {
  let test: TestCaisson;
  let sandbox: Sandbox;
  beforeAll(async () => {
    test = await openTestCaisson();
    sandbox = await test.caisson.createSandbox({ engine, limits: { storageBytes: 64 * 1024 ** 2 } });
    sandbox.setEnvironment({ SECRET: secret, PEM: lines, NAMED: named });
    sandbox.redactor.hide([secret, lines, named].map((value) => Buffer.from(value)));
  });
  afterAll(async () => {
    await sandbox.destroy();
    await test[Symbol.asyncDispose]();
  });

  it("[SEC-06] is not in stdout or stderr, whatever form it is printed in", async () => {
    const code = `${load}b = s.encode()
forms = [s, base64.b64encode(b).decode(), base64.b64encode(b'user:' + b).decode(), b.hex(), urllib.parse.quote(s), json.dumps({'k': s}), repr(b)]
for form in forms: print('[' + form + ']'); print('[' + form + ']', file=sys.stderr)
raise ValueError(s)`;
    const { stdout, stderr } = await sandbox.exec({ command: python(code) });
    for (const line of stdout.trim().split("\n")) expect(line).toContain(redacted);
    expect(stderr.split(redacted).length).toBe(9); // seven lines and the exception
    expect(stdout.split("\n")[0]).toBe(`[${redacted}]`);
  });

  it("[SEC-06] is not in output that comes in pieces, streamed or on a terminal: what follows a pause is masked", async () => {
    const code = `${load}import time
for place, letter in enumerate(s + '!'):
  os.write(1, letter.encode())
  if place < 6: time.sleep(0.07)`;
    for (const terminal of [undefined, { rows: 24, columns: 80 }]) {
      const seen: Buffer[] = [];
      const onOutput = async (_: string, chunk: Buffer) => void seen.push(Buffer.from(chunk));
      await sandbox.exec({ command: python(code), onOutput, ...(terminal === undefined ? {} : { terminal }) });
      expect(Buffer.concat(seen).toString()).toMatch(/^.{0,8}\*{3}REDACTED\*{3}!$/);
    }
  });

  it("[SEC-06] is not in what a background process leaves, and offsets hold", async () => {
    const process = await sandbox.processes.start({ command: python(`${load}print('a', s, 'b')`) });
    await process.wait();
    const piece = await process.read(0);
    expect(piece.data.toString()).toBe(`a ${stars} b\n`);
    expect((await process.read(2, { maxBytes: 4 })).data.toString()).toBe("****");
    expect(process.info().output.stdout.to).toBe(size + 5);
  });

  it("[SEC-06] is not in what a context prints, shows or raises", async () => {
    await using context = await sandbox.contexts.create({ language: "python" });
    const run = await context.run(`${load}print(s)\n{'value': s, s: 1}`);
    expect(run.stdout).toBe(`${redacted}\n`);
    expect(JSON.stringify(run.results)).not.toContain("4711");
    expect(JSON.stringify(run.results)).toContain(redacted);
    const failed = await context.run("raise KeyError(s)");
    expect(JSON.stringify(failed)).not.toContain("4711");
    expect(failed.error?.message).toContain(redacted);
  });

  it("[SEC-06] is not in files that are read, searched, listed or packed, and cannot be had byte by byte", async () => {
    await sandbox.exec({
      command: python(`${load}open('note.txt', 'w').write('x ' + s + ' y')\nopen('n-' + s.replace('/', '_'), 'w')`),
    });
    expect(await gather(sandbox.files.read("note.txt"))).toBe(`x ${stars} y`);
    let bytes = "";
    for (let offset = 0; offset < size + 4; offset++)
      bytes += await gather(sandbox.files.read("note.txt", { offset, length: 1 }));
    expect(bytes).toBe(`x ${stars} y`);
    const matches = [];
    for await (const match of sandbox.files.search("", { text: "x " })) matches.push(match);
    expect(matches).toMatchObject([{ path: "note.txt", text: `x ${stars} y` }]);
    const archive = await gather(sandbox.files.pack(""));
    expect(archive).not.toContain("4711 y");
    expect(archive).toContain(`x ${stars} y`);
  });

  it("[SEC-06] is not in the names that a watch tells", async () => {
    await using watch = await sandbox.files.watch("");
    const events = watch[Symbol.asyncIterator]();
    await sandbox.exec({ command: python("import os\nopen('watched-' + os.environ['NAMED'], 'w')") });
    for (;;) {
      const { value: event } = await events.next();
      expect(JSON.stringify(event)).not.toContain(named);
      if (event.path === `watched-${redacted}`) break;
    }
  });

  it("[S87] is found by no part of it, in a file or a name, and nothing in the answer tells", async () => {
    await sandbox.exec({
      command: python(`${load}os.makedirs('hunt/in', exist_ok=True)
open('hunt/.env', 'w').write('first\\nkey=' + s + ' and ' + s + '\\nlast key\\n')
open('hunt/in/n-' + os.environ['NAMED'], 'w').write('a key in it\\n')
open('hunt/pem', 'w').write(os.environ['PEM'] + '\\n')`),
    });
    const told = async (options: SearchOptions) => {
      const search = sandbox.files.search("hunt", options);
      const matches: SearchMatch[] = [];
      for await (const match of search) matches.push(match);
      return { matches, summary: search.summary };
    };
    const nothing = { matches: [], summary: { matches: 0, filesRead: 3, truncated: false } };
    for (let size = 1; size <= secret.length; size++)
      for (const ignoreCase of [false, true])
        expect(await told({ text: `key=${secret.slice(0, size)}`, limit: 1, ignoreCase })).toEqual(nothing);
    expect(await told({ text: "second line" })).toEqual(nothing);
    expect(await told({ text: "key=" })).toEqual({
      matches: [{ path: ".env", type: "file", line: 2, column: 1, text: `key=${stars} and ${stars}` }],
      summary: { matches: 1, filesRead: 3, truncated: false },
    });
    expect((await told({ text: "key", limit: 1 })).summary).toMatchObject({ matches: 1, truncated: true });
    expect((await told({ text: " and " })).matches).toMatchObject([{ column: 5 + size, line: 2 }]);
    expect((await told({ text: "a KEY", ignoreCase: true })).matches).toMatchObject([
      { path: `in/n-${redacted}`, text: "a key in it" },
    ]);
  });

  it("[S87] a name that holds it is no match and no miss of a pattern: there is no search by name", async () => {
    await sandbox.exec({
      trackFiles: false,
      command: python(`${load}os.makedirs('deep/er/' + os.environ['NAMED'], exist_ok=True)
open('deep/er/' + os.environ['NAMED'] + '/inner', 'w').write('a key')
open('deep/plain', 'w').write('a key')
open('deep/large', 'w').truncate(2 ** 30)`),
    });
    const found = async (folder: string, options: SearchOptions) => {
      const search = sandbox.files.search(folder, options);
      const paths: string[] = [];
      for await (const { path } of search) paths.push(path);
      return { paths: paths.sort(), truncated: search.summary?.truncated };
    };
    const refusal = {
      code: "unsupported",
      message: "cannot search by name: the name of a file contains a secret value",
    };
    for (const name of ["?*", "none", `${named.slice(0, 5)}*`, "er/t*/*", "large"])
      for (const options of [{ name }, { name, text: "key" }, { name, limit: 1 }])
        await expect(found("deep", options)).rejects.toMatchObject(refusal);
    expect(await found("deep", { text: "key" })).toEqual({ paths: [`er/${redacted}/inner`, "plain"], truncated: true });
    const all = ["er", `er/${redacted}`, `er/${redacted}/inner`, "large", "plain"];
    expect(await found("deep", { name: "*" })).toEqual({ paths: all, truncated: false });
    await sandbox.files.remove("deep/er", { recursive: true });
    expect(await found("deep", { name: "p*", text: "key" })).toEqual({ paths: ["plain"], truncated: false });
    expect(await found("deep", { name: "l*" })).toEqual({ paths: ["large"], truncated: false });
  });

  it("[S87] is in no line of a file that the search stops reading in the middle of it", async () => {
    const pieceBytes = 256 * 1024;
    await sandbox.exec({
      command: python(`${load}os.makedirs('cut', exist_ok=True)
for rest in (0, 1, 10):
  before = 'first TOKEN\\n' + 'x\\n' * ${pieceBytes}
  value = 'TOKEN=' + s
  size = ${pieceBytes} - len(value.encode()) + rest
  open(f'cut/f{rest}', 'wb').write(before[:size].encode() + value.encode() + b'\\n\\0')
open('cut/whole', 'w').write('last TOKEN=' + s)`),
    });
    const matches: SearchMatch[] = [];
    for await (const match of sandbox.files.search("cut", { text: "TOKEN" })) matches.push(match);
    const shown = matches.map(({ path, text }) => `${path} ${text}`).sort();
    expect(shown).toEqual(["f0 first TOKEN", "f1 first TOKEN", "f10 first TOKEN", `whole last TOKEN=${stars}`]);
  });

  it("[S87] leaves a search of everything else as it was", async () => {
    await sandbox.exec({
      command: python(`import os
os.makedirs('odd/deep', exist_ok=True)
open('odd/long', 'w').write('x' * 700000 + 'needle' + 'y' * 3000 + '\\nneedle\\n' + 'z\\n' * 200000 + 'a needle needle\\nNEEDLE')
open('odd/deep/nul', 'wb').write(b'needle\\0needle')
open('odd/deep/none', 'w')`),
    });
    await using plain = await test.caisson.createSandbox({ engine, limits: { storageBytes: 64 * 1024 ** 2 } });
    await plain.files.unpack("odd", gatherAll(sandbox.files.pack("odd")));
    const all = async (from: Sandbox, folder: string, options: SearchOptions) => {
      const search = from.files.search(folder, options);
      const matches: SearchMatch[] = [];
      for await (const match of search) matches.push(match);
      return { matches: matches.sort((one, other) => one.path.localeCompare(other.path)), summary: search.summary };
    };
    for (const options of [
      { text: "needle" },
      { text: "needle", ignoreCase: true, binary: true },
      { text: "needle", name: "n*" },
      { name: "*o*" },
      { name: "*", limit: 2 },
      { text: "needle", limit: 2 },
    ]) {
      const masked = await all(sandbox, "odd", options);
      const native = await all(plain, "odd", options);
      if (options.limit === undefined) expect(masked).toEqual(native);
      else expect(masked.summary).toMatchObject({ matches: 2, truncated: true });
    }
  });

  it("[SEC-06] is not in the names of changed files", async () => {
    const { files_changed } = await sandbox.exec({
      command: python(`${load}open('f-' + s.replace('/', ''), 'w')\nopen(s[:6], 'w')`),
    });
    expect(files_changed.length).toBe(2);
    const named = await sandbox.exec({ command: python("open('tok-plain', 'w')") });
    expect(named.files_changed.map(({ path }) => path)).toEqual(["tok-plain"]);
  });

  it("leaves everything else as it is", async () => {
    const { stdout } = await sandbox.exec({ command: python("print('tok-9f! is no value', end='')") });
    expect(stdout).toBe("tok-9f! is no value");
  });
});
