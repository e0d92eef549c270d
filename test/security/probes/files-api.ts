import { mkdtemp, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../../packages/server/src/core/errors.ts";
import type { Sandbox } from "../../../packages/server/src/sandboxes/sandbox.ts";
import type { Effect, Ground, Probe } from "../probe.ts";
import type { Stage } from "../stage.ts";

const section = "Host files";

export async function readText(sandbox: Sandbox, path: string): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of sandbox.files.read(path)) chunks.push(chunk);
  return Buffer.concat(chunks).toString("latin1");
}

/** What the call gave, or null where it was refused with one of the product's own errors. */
export async function given<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof AppError && error.code !== "internal" && error.details?.sandbox_lost !== true) return null;
    throw error;
  }
}

async function shell(sandbox: Sandbox, command: string): Promise<string> {
  const result = await sandbox.exec({ command, trackFiles: false });
  if (result.exit_code !== 0) throw new Error(`${command}: ${result.stderr}`);
  return result.stdout;
}

/** Reads by each path; anything that comes from outside the workspace is an effect. */
async function readEach(ground: Ground, paths: readonly string[]): Promise<Effect> {
  for (const path of ground.stage.fill(paths)) {
    const text = await given(readText(ground.sandbox, path));
    if (text?.includes(ground.stage.token)) return `a secret by ${path}`;
    if (text?.includes("root:")) return `the sandbox's own /etc by ${path}`;
    const rows = await given(ground.sandbox.files.list(path));
    if (rows !== null) return `a listing of ${path}`;
    if ((await given(ground.sandbox.files.stat(path))) !== null && !path.startsWith("link"))
      return `the size of ${path}`;
  }
  return null;
}

const up = "../".repeat(40);
const insideTwin = (where: string, attempt: (ground: Ground) => Promise<Effect>): Probe["twin"] => ({
  where,
  inSandbox: true,
  attempt,
});

/** A link of this shape is followed where it stays inside. */
const insideLink = insideTwin("where it leads to a file of the workspace", async ({ sandbox }) => {
  await sandbox.files.write("inside/file", "inside text");
  await shell(sandbox, "ln -sfn /workspace/inside linked-folder; ln -sfn inside/file linked-file");
  const texts = [await readText(sandbox, "linked-folder/file"), await readText(sandbox, "linked-file")];
  return texts.every((text) => text === "inside text") ? "the file's text" : null;
});

export const filesApi: readonly Probe[] = [
  {
    section,
    claim: "lead a file call out of the workspace by .. or an absolute path",
    attempt: (ground) =>
      readEach(ground, [
        "{canary}",
        `${up}{canary}`,
        "/etc/passwd",
        `${up}etc/passwd`,
        "inside/../../etc/passwd",
        "/workspace/../etc/passwd",
        "/workspacex",
        "/",
        "..",
        "/proc/1/environ",
        "/proc/self/root/etc/passwd",
        "//etc/passwd",
        "%2e%2e/etc/passwd",
        "..%2fetc%2fpasswd",
        "{data}",
        "{home}",
      ]),
    twin: insideTwin("with .. and an absolute path inside the workspace", async ({ sandbox }) => {
      await sandbox.files.write("inside/file", "inside text");
      const texts = [
        await readText(sandbox, "inside/../inside/file"),
        await readText(sandbox, "/workspace/inside/file"),
      ];
      return texts.every((text) => text === "inside text") ? "the file's text" : null;
    }),
  },
  {
    section,
    claim: "lead a file call out of the workspace by a symbolic link",
    attempt: async (ground) => {
      const { canary, canaryFolder, data } = ground.stage.values;
      const targets = [
        canary,
        data,
        "/etc/passwd",
        `${up}etc/passwd`,
        "/proc/1/environ",
        "/proc/1/fd/0",
        "/proc/self/root/etc/passwd",
        "/dev/zero",
        "/",
      ];
      const links = targets.map((target, i) => `ln -sfn '${target}' link${i}`).join("; ");
      await shell(
        ground.sandbox,
        `${links}; ln -sfn '${canaryFolder}' linkfolder; ln -sfn /etc linketc; ln -sfn /proc/self linkself`,
      );
      const paths = [
        ...targets.map((_, i) => `link${i}`),
        "linkfolder/secret",
        "linketc/passwd",
        "linkself/root/etc/passwd",
        "linkself/environ",
      ];
      return readEach(ground, paths);
    },
    twin: insideLink,
  },
  {
    section,
    claim: "lead a write, a move or a removal out of the workspace by a link",
    attempt: async ({ sandbox }) => {
      await shell(
        sandbox,
        "mkdir -p ~/kept && echo kept >~/kept/file && ln -sfn ~/kept kept && ln -sfn ~/kept/file keptfile && echo mine >mine",
      );
      await given(sandbox.files.write("kept/file", "overwritten"));
      await given(sandbox.files.write("kept/new", "new"));
      await given(sandbox.files.write("keptfile", "overwritten"));
      await given(sandbox.files.mkdir("kept/folder"));
      await given(sandbox.files.move("mine", "kept/moved"));
      await given(sandbox.files.remove("kept/file"));
      await given(sandbox.files.remove("kept", { recursive: true }));
      const found = await shell(sandbox, "ls -A ~/kept; cat ~/kept/file");
      return found === "file\nkept\n" ? null : `a change outside the workspace: ${found}`;
    },
    twin: insideTwin("inside the workspace", async ({ sandbox }) => {
      await shell(sandbox, "mkdir -p own && ln -sfn own ownlink");
      await sandbox.files.write("ownlink/file", "written");
      return (await shell(sandbox, "cat own/file")) === "written" ? "a file written through a link" : null;
    }),
  },
  {
    section,
    claim: "hang or fool a file call with a FIFO, a socket or a device where a file is expected",
    attempt: async ({ sandbox }) => {
      await shell(
        sandbox,
        "rm -f fifo sock; mkfifo fifo; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'; ln -sfn /dev/zero zero",
      );
      for (const path of ["fifo", "sock", "zero"]) {
        if ((await given(readText(sandbox, path))) !== null) return `a reading of ${path}`;
        if ((await given(sandbox.files.list(path))) !== null) return `a listing of ${path}`;
      }
      await shell(sandbox, "mkdir -p fifos; rm -f fifos/*; mkfifo fifos/a");
      const rows = await sandbox.files.list("fifos");
      await sandbox.files.write("fifos/a", "a file now");
      return rows[0]?.type === "other" ? null : `a FIFO that is told as ${rows[0]?.type}`;
    },
    twin: insideTwin("with a file", async ({ sandbox }) => {
      await sandbox.files.write("plain", "text");
      return (await readText(sandbox, "plain")) === "text" ? "the file's text" : null;
    }),
  },
  {
    section,
    claim: "have a file read that became a link after it was listed",
    attempt: async (ground) => {
      const { sandbox, stage } = ground;
      await sandbox.files.write("turn/file", "harmless");
      const rows = await sandbox.files.list("turn");
      if (rows[0]?.type !== "file") return `a listing that says ${rows[0]?.type}`;
      await shell(sandbox, `ln -sfn '${stage.values.canary}' turn/file`);
      if ((await given(readText(sandbox, "turn/file")))?.includes(stage.token)) return "a secret by the link";
      await shell(sandbox, "ln -sfn /etc/passwd turn/file");
      return (await given(readText(sandbox, "turn/file"))) === null ? null : "a file outside the workspace";
    },
    twin: insideLink,
  },
  {
    section,
    claim: "upset file calls by odd names",
    attempt: async ({ sandbox }) => {
      await shell(sandbox, "mkdir -p odd && cd odd && ../probe odd-names");
      const rows = await sandbox.files.list("odd");
      if (rows.length !== 14) return `${rows.length} of 14 names`;
      for (const name of [
        "with\nnewline",
        "%2e%2e",
        "..%2fetc%2fpasswd",
        "-rf",
        "$(id)",
        "a\\b",
        "...",
        " ",
        "\u001b[31mred",
      ])
        if (!(await readText(sandbox, `odd/${name}`)).startsWith("odd ")) return `another file than '${name}'`;
      const refused = [sandbox.files.stat("a\0b"), sandbox.files.mkdir("a\0b"), readText(sandbox, "odd\0/../x")];
      for (const call of refused) if ((await given<unknown>(call)) !== null) return "a NUL that was taken";
      const tracked = await sandbox.exec({ command: "cd odd && ../probe odd-names", trackFiles: true });
      return tracked.files_changed.length === 14 ? null : `${tracked.files_changed.length} of 14 changes`;
    },
    twin: insideTwin("with a plain name", async ({ sandbox }) => {
      await sandbox.files.write("plain-name", "text");
      return (await sandbox.files.list("")).some((row) => row.name === "plain-name") ? "its row" : null;
    }),
  },
  {
    section,
    claim: "upset file calls, files_changed or the removal of the sandbox by a path 10,000 deep",
    own: { storageBytes: 256 * 1024 * 1024 },
    attempt: async ({ sandbox }) => {
      const run = await sandbox.exec({ command: "mkdir deep && cd deep && ../probe deep 10000", trackFiles: true });
      if (!run.stdout.includes("reached 10000")) return `no such path: ${run.stdout}${run.stderr}`;
      if (!run.files_changed_truncated) return "files_changed that hides what it did not see";
      await given(sandbox.files.list("deep", { recursive: true }));
      await given(sandbox.files.stat("deep/".repeat(1).concat("d/".repeat(2000))));
      await given(sandbox.files.remove("deep", { recursive: true }));
      const answer = await sandbox.exec({ command: ["/bin/true"], trackFiles: false });
      return answer.exit_code === 0 ? null : "a sandbox that no longer answers";
    },
    twin: insideTwin("with a path 50 deep", async ({ sandbox }) => {
      await shell(sandbox, "rm -rf shallow; mkdir shallow && cd shallow && ../probe deep 50");
      const rows = await sandbox.files.list("shallow", { recursive: true });
      return rows.some((row) => row.name.endsWith("/bottom")) ? "the file at the bottom" : null;
    }),
  },
  {
    section,
    claim: "read the host by a link in its input folder",
    attempt: async ({ create, stage }) => {
      const inputFolder = await layInputFolder(stage, stage.values.canary ?? "");
      const sandbox = await given(create({ inputFolder, limits: { storageBytes: 64 * 1024 * 1024 } }));
      if (sandbox === null) return null; // such a folder may be refused
      await using _ended = sandbox;
      const result = await sandbox.exec({ command: "cat input/*; cat input/out", trackFiles: false });
      const text = (await given(readText(sandbox, "input/out"))) ?? "";
      return `${result.stdout}${text}`.includes(stage.token) ? "a secret by the link" : null;
    },
    twin: insideTwin("with a file", async ({ create, stage }) => {
      const inputFolder = await layInputFolder(stage);
      await using sandbox = await create({ inputFolder, limits: { storageBytes: 64 * 1024 * 1024 } });
      return (await readText(sandbox, "input/plain")) === "plain text" ? "the file's text" : null;
    }),
  },
];

/** The input folder is somebody's checkout: it may hold links that lead out of it. */
async function layInputFolder(stage: Stage, target?: string): Promise<string> {
  const input = await mkdtemp(join(stage.folder, "input-"));
  await writeFile(join(input, "plain"), "plain text");
  if (target !== undefined) await symlink(target, join(input, "out"));
  return input;
}
