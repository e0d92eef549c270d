import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { redacted } from "../../packages/server/src/core/redaction.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";

const secret = 'tok-9f!/8"q é-4711';
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

describe.each(engines)("a hidden value (%s)", (engine) => {
  let test: TestCaisson;
  let sandbox: Sandbox;
  beforeAll(async () => {
    test = await openTestCaisson();
    sandbox = await test.caisson.createSandbox({ engine, output: true, limits: { storageBytes: 64 * 1024 ** 2 } });
    sandbox.setEnvironment({ SECRET: secret });
    sandbox.redactor.hide([Buffer.from(secret)]);
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
    expect(matches).toMatchObject([{ path: "note.txt", text: `x ${redacted} y` }]);
    const archive = await gather(sandbox.files.pack(""));
    expect(archive).not.toContain("4711 y");
    expect(archive).toContain(`x ${stars} y`);
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
