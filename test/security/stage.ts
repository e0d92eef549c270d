import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { globSync } from "node:fs";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { ordinary, root } from "../harness.ts";
import { Holder, runOnHost } from "./host-run.ts";

/** The programs whose bytes no sandbox may change. */
const guarded = ["/usr/bin/sleep", "/usr/sbin/runc", "/usr/bin/runc", "/usr/bin/crun", join(root, ".build/bin/runsc")];

/**
 * What the host holds that no sandbox may reach. Every secret begins with `token`, a random word that stands nowhere
 * else: where it comes out, something was reached. Names on the host carry `mark`, another random word.
 */
export class Stage implements AsyncDisposable {
  readonly token: string;
  readonly mark: string;
  /** A folder of the host that everybody may pass; holds the probe program. */
  readonly folder: string;
  readonly program: string;
  /** Placeholders of the probe tables. */
  readonly values: Readonly<Record<string, string>>;
  /** A root process that a probe may try to end, see or take over. */
  readonly victim: Holder;
  readonly #stack: AsyncDisposableStack;

  private constructor(
    stack: AsyncDisposableStack,
    token: string,
    mark: string,
    folder: string,
    victim: Holder,
    values: Record<string, string>,
  ) {
    this.#stack = stack;
    this.token = token;
    this.mark = mark;
    this.folder = folder;
    this.program = join(folder, "probe");
    this.victim = victim;
    this.values = values;
  }

  static async set(home: string): Promise<Stage> {
    await using stack = new AsyncDisposableStack();
    const token = `SECRET${randomBytes(12).toString("hex")}`;
    const mark = `mark${randomBytes(8).toString("hex")}`;
    const folder = await mkdtemp("/var/tmp/caisson-escape-");
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    await chmod(folder, 0o755);
    const probe = await compile(folder);
    const hold = async (...words: string[]) => stack.use(await Holder.start([probe, ...words], folder));

    const canary = await plant(stack, join(homedir(), `.${mark}`), `${token}-root-file`);
    const data = await plant(stack, join(home, mark), `${token}-data-folder`);
    const key = String(randomBytes(4).readUInt32LE() & 0x3fffffff);
    const held = await hold("hold-key", `${token}-key`);
    await hold("hold-system-v", key, `${token}-system-v`);
    await hold("hold-queue", mark, `${token}-queue`);
    await hold("hold-file", `/dev/shm/${mark}`, `${token}-dev-shm`);
    await hold("hold-abstract", mark, `${token}-abstract`);
    const port = stack.use(await listen(`${token}-port`));
    const disk = ordinary ? await findDisk() : await attachDisk(stack, folder, `${token}-disk`);
    await writeFile("/dev/kmsg", `caisson escape suite: ${token}-kernel-log\n`).catch(() => undefined);
    const victim = await hold("hold-file", join(folder, "victim"), mark);

    const values = {
      canary,
      canaryFolder: join(homedir(), `.${mark}`),
      data,
      home,
      folder,
      mark,
      backwards: [...mark].reverse().join(""),
      tokenBackwards: [...token].reverse().join(""),
      serial: held.words[0] ?? "",
      key,
      neighbourKey: String(Number(key) ^ 1),
      neighbourMark: `${mark}n`,
      neighbourBackwards: [...`${mark}n`].reverse().join(""),
      port: String(port.port),
      victim: String(victim.pid),
      ...disk,
    };
    return new Stage(stack.move(), token, mark, folder, victim, values);
  }

  /** The words of a probe with the host's names in place. */
  fill(words: readonly string[], more: Readonly<Record<string, string>> = {}): string[] {
    return words.map((word) =>
      word.replace(/\{(\w+)\}/g, (_, name: string) => {
        const value = more[name] ?? this.values[name];
        if (value === undefined) throw new Error(`the stage has no {${name}}`);
        return value;
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

/** One static program out of programs/*.c. */
async function compile(folder: string): Promise<string> {
  const program = join(folder, "probe");
  const sources = globSync("programs/*.c", { cwd: import.meta.dirname }).sort();
  const done = await runOnHost(
    ["musl-gcc", "-static", "-O1", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread"].concat(
      ["-idirafter", join(root, ".build/include"), "-o", program],
      sources,
    ),
    { cwd: import.meta.dirname, timeoutMs: 60_000 },
  );
  if (done.exitCode !== 0) throw new Error(`the probe program does not compile:\n${done.stderr}`);
  return program;
}

/** A folder for root alone, with one file. */
async function plant(stack: AsyncDisposableStack, folder: string, secret: string): Promise<string> {
  await mkdir(folder, { mode: 0o700 });
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "secret");
  await writeFile(file, secret, { mode: 0o600 });
  return file;
}

/** A loop device whose first bytes are a secret. */
async function attachDisk(
  stack: AsyncDisposableStack,
  folder: string,
  secret: string,
): Promise<Record<string, string>> {
  const image = join(folder, "disk");
  await writeFile(image, Buffer.concat([Buffer.from(secret), Buffer.alloc(1 << 20)]), { mode: 0o600 });
  const attached = await runOnHost(["/usr/sbin/losetup", "--find", "--show", image]);
  const device = attached.stdout.trim();
  if (attached.exitCode !== 0) throw new Error(`no loop device: ${attached.stderr}`);
  stack.defer(async () => void (await runOnHost(["/usr/sbin/losetup", "--detach", device])));
  const number = (await stat(device)).rdev;
  return { disk: device, major: String(number >> 8), minor: String(number & 0xff) };
}

/** What an ordinary user can name and not read. */
async function findDisk(): Promise<Record<string, string>> {
  const [disk = "/dev/loop0"] = globSync(["/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/loop0"]);
  const number = (await stat(disk).catch(() => undefined))?.rdev ?? 0x700;
  return { disk, major: String(number >> 8), minor: String(number & 0xff) };
}

interface Port extends AsyncDisposable {
  port: number;
}

async function listen(secret: string): Promise<Port> {
  const server: Server = createServer((socket) => socket.end(secret));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    [Symbol.asyncDispose]: async () => void (await new Promise((done) => server.close(done))),
  };
}

/** Of every program that a sandbox shares with the host, so that a change shows. */
export async function hashPrograms(more: readonly string[] = []): Promise<string> {
  const paths = [...guarded, join(root, ".build/bin/caisson-guest"), join(root, ".build/bin/caisson-helper"), ...more];
  const hash = createHash("sha256");
  for (const path of paths) hash.update(await readFile(path).catch(() => "absent"));
  return hash.digest("hex");
}

/** A copy of a program of the host, for a twin to spoil. */
export async function copyProgram(stage: Stage, path: string, name: string): Promise<string> {
  const copy = join(stage.folder, name);
  await copyFile(path, copy);
  return copy;
}
