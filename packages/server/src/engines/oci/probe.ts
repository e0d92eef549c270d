import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { EngineProbe } from "../../core/engine.ts";
import { AppError, errnoOf } from "../../core/errors.ts";
import { requestLimits } from "../../core/limits.ts";
import { engineLimits } from "../limits.ts";
import { runtimes } from "../runtime.ts";
import { runProcess } from "../spawn.ts";
import { createOciEngine } from "./engine.ts";
import { type OciEngineOptions, runtimePathOf } from "./engine-options.ts";
import { makeEngineFolders, readBootId } from "./sandbox-folder.ts";

export type ProbeOptions = Omit<OciEngineOptions, "guestPath" | "guestArgs">;

const limits = {
  memoryBytes: requestLimits.memoryBytes.min,
  cpus: requestLimits.cpus.default,
  cpuShares: requestLimits.cpuShares.default,
  processes: requestLimits.processes.default,
  storageBytes: requestLimits.storageBytes.min,
};

/** Starts a sandbox for real, with a program that only waits, and ends it: what is installed may still not work. */
export async function probeOciEngine(options: ProbeOptions): Promise<EngineProbe> {
  const { program } = runtimes[options.name];
  const runtimePath = await runtimePathOf(options);
  const found = runtimePath === undefined ? {} : { runtimePath };
  try {
    const detail = await Promise.race([tryEngine(options, runtimePath), failLater(program)]);
    return { engine: options.name, usable: true, detail, ...found };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const hint = error.hint === undefined ? {} : { hint: error.hint };
    return { engine: options.name, usable: false, detail: error.message, ...hint, ...found };
  }
}

/** The last good probe of the same runtime since this machine started; else a new one. */
export async function recallProbe(options: ProbeOptions): Promise<EngineProbe> {
  const path = join(await makeEngineFolders(options.home), "probes", `${options.name}.json`);
  const key = await describeRuntime(options);
  const known = await readFile(path, "utf8").catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return "";
    throw error;
  });
  if (known.startsWith(`${key}\n`)) return JSON.parse(known.slice(key.length)) as EngineProbe;
  const probe = await probeOciEngine(options);
  if (probe.usable) await replaceFile(path, `${key}\n${JSON.stringify(probe)}`);
  return probe;
}

async function tryEngine(options: ProbeOptions, runtimePath: string | undefined): Promise<string> {
  await using engine = await createOciEngine({ ...options, guestPath: options.helperPath, guestArgs: ["hold"] });
  const { id } = await engine.create({ limits });
  await engine.destroy(id);
  const version = await runProcess(runtimePath ?? "", ["--version"], {
    timeoutMs: engineLimits.probeTimeoutMs,
    outputBytes: engineLimits.runtimeLogBytes,
  });
  return version.output.split("\n")[0] ?? "";
}

async function failLater(program: string): Promise<never> {
  await sleep(engineLimits.probeTimeoutMs, undefined, { ref: false });
  throw new AppError("timeout", `${program} did not start a sandbox within ${engineLimits.probeTimeoutMs / 1000} s`);
}

async function describeRuntime(options: ProbeOptions): Promise<string> {
  const runtimePath = (await runtimePathOf(options)) ?? "";
  const [runtime, helper, bootId] = await Promise.all([
    stat(runtimePath).catch(() => undefined),
    stat(options.helperPath).catch(() => undefined),
    readBootId(),
  ]);
  return [bootId, runtimePath, runtime?.mtimeMs, runtime?.size, helper?.mtimeMs, helper?.size].join(" ");
}

async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomUUID()}`;
  await mkdir(join(path, ".."), { recursive: true, mode: 0o700 });
  await writeFile(draft, text, { mode: 0o600 });
  await rename(draft, path);
}
