import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines, root } from "../harness.ts";
import { findLeaks } from "../leaks.ts";

let folder: string;
let home: string;
beforeAll(async () => {
  folder = await mkdtemp("/var/tmp/caisson-config-");
});
afterAll(async () => {
  expect(findLeaks(folder)).toEqual([]);
  await rm(folder, { recursive: true });
});

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

function caisson(args: string[], variables: Record<string, string> = {}): Promise<Outcome> {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith("CAISSON_"));
  const env = { ...Object.fromEntries(others), CAISSON_HOME: home, ...variables };
  return new Promise((resolve) => {
    execFile(join(root, "caisson"), args, { env, cwd: folder }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stdout, stderr }),
    ).stdin?.end();
  });
}

async function newHome(yaml?: string): Promise<void> {
  home = await mkdtemp(join(folder, "home-"));
  if (yaml !== undefined) await writeFile(join(home, "caisson.yaml"), yaml);
}

describe("caisson config", () => {
  it("[API-07] prints every setting as it holds, and where its value comes from", async () => {
    await newHome("engine: container\nmax_ram_mb: 256\nmax_processes: 9\n");
    const { code, stdout, stderr } = await caisson(["config"], { CAISSON_MAX_PROCESSES: "11" });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const rows = Object.fromEntries(
      stdout
        .trim()
        .split("\n")
        .map((line) => [line.split(/\s+/)[0], line.split(/\s+/).slice(1)]),
    );
    expect(rows).toMatchObject({
      home: [home, "CAISSON_HOME"],
      engine: ["container", `${home}/caisson.yaml:1`],
      max_ram_mb: ["256", `${home}/caisson.yaml:2`],
      max_processes: ["11", "CAISSON_MAX_PROCESSES"],
      max_cpu_cores: ["1", "default"],
    });
  });

  it("[API-07] has a JSON form, and takes another file", async () => {
    await newHome("engine: container\n");
    const file = join(folder, "other.yaml");
    await writeFile(file, "engine: gvisor\n");
    for (const outcome of [
      await caisson(["config", "--json", "--config", file]),
      await caisson(["config", "--json"], { CAISSON_CONFIG: file }),
    ])
      expect(JSON.parse(outcome.stdout)).toMatchObject({
        home,
        file,
        settings: { engine: { value: "gvisor", origin: `${file}:1` }, max_ram_mb: { value: 512, origin: "default" } },
      });
  });

  it("[API-07] lists all settings in its help, also where the file is broken", async () => {
    await newHome("engne: container\n");
    for (const args of [
      ["config", "--help"],
      ["help", "config"],
    ]) {
      const { code, stdout } = await caisson(args);
      expect(code).toBe(0);
      for (const name of [
        "CAISSON_ENGINE",
        "CAISSON_MAX_CONCURRENT",
        "CAISSON_NETWORK",
        "CAISSON_VAULT",
        "CAISSON_AUDIT",
      ])
        expect(stdout).toContain(name);
      for (const name of ["max_ram_mb", "timeout_seconds", "sqlite_path", "runs.keep"]) expect(stdout).toContain(name);
    }
  });

  it.each([["config"], ["run", join(root, "examples/hello.sh")], ["doctor"]])(
    "[API-07] %s refuses a broken file with its line and a hint, and starts nothing",
    async (...args) => {
      await newHome("# settings\nengne: container\n");
      expect(await caisson(args)).toEqual({
        code: 2,
        stdout: "",
        stderr: `caisson: ${home}/caisson.yaml:2: unknown setting 'engne'\n  hint: did you mean engine?\n`,
      });
      expect(await readdir(home)).toEqual(["caisson.yaml"]);
    },
  );

  it("[API-07] run refuses a setting that nothing would obey, from the environment too", async () => {
    await newHome();
    const outcome = await caisson(["run", join(root, "examples/hello.sh")], { CAISSON_TIMEOUTT: "1" });
    expect(outcome).toMatchObject({
      stdout: "",
      stderr: "caisson: unknown variable CAISSON_TIMEOUTT\n  hint: did you mean CAISSON_TIMEOUT?\n",
    });
    expect(outcome.code).not.toBe(0);
  });
});

describe.each(engines)("settings of caisson run (%s)", (engine) => {
  it("[API-07] hold: the engine, the wall clock and the memory; options win over them", async () => {
    await newHome(`engine: ${engine}\ntimeout_seconds: 0.4\nmax_storage_mb: 64\n`);
    await writeFile(join(folder, "sleep.sh"), "sleep 60");
    await writeFile(join(folder, "short.sh"), "sleep 0.6");
    expect(await caisson(["run", "sleep.sh"])).toMatchObject({ code: 124, stderr: expect.stringMatching(/0.4 s/) });
    const { code, stdout } = await caisson(["run", "--json", "--timeout", "0", "short.sh"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ engine, exit_code: 0, timed_out: false });
    const small = await caisson(["run", "--json", "--memory", "9000", "short.sh"]);
    expect(small).toMatchObject({ code: 2, stderr: expect.stringMatching(/exceeds the maximum/) });
  });

  it("[EXE-14] leave a record of the run in the data folder, unless they say otherwise", async () => {
    await newHome(`engine: ${engine}\nmax_storage_mb: 64\n`);
    await writeFile(join(folder, "say.sh"), "echo said; exit 5");
    expect((await caisson(["run", "say.sh"])).code).toBe(5);
    const names = (await readdir(join(home, "runs"))).filter((name) => name.endsWith(".jsonl"));
    expect(names).toHaveLength(1);
    const text = await readFile(join(home, "runs", names[0] ?? ""), "utf8");
    expect(JSON.parse(text)).toMatchObject({ exit_code: 5, stdout: "said\n", command: "bash say.sh" });
    const id = names[0]?.replace(".jsonl", "") ?? "";
    expect((await caisson(["runs"])).stdout).toMatch(new RegExp(`${id}  5 +\\d+ ms  bash say.sh\n$`));
    const listed = await caisson(["runs", "--json", id]);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ sandbox_id: id, exit_code: 5, stdout: "said\n" }]);
    const stderr = "caisson: no such run is recorded\n";
    expect(await caisson(["runs", "nobody"])).toEqual({ code: 0, stdout: "", stderr });
    await newHome(`engine: ${engine}\nmax_storage_mb: 64\nruns:\n  record: false\n`);
    expect((await caisson(["run", "say.sh"])).code).toBe(5);
    expect(await readdir(home)).not.toContain("runs");
  });
});
