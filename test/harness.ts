import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Caisson, type CaissonOptions, openCaisson } from "../packages/server/src/app.ts";
import type { Engine, EngineName } from "../packages/server/src/core/engine.ts";
import { createOciEngine } from "../packages/server/src/engines/oci/engine.ts";
import { prepareHostImage } from "../packages/server/src/engines/root/host-image.ts";
import { makeDataFolder, removeDataFolder } from "./data-folder.ts";

export const root = join(import.meta.dirname, "..");
/** The project `sanitized` runs the claims of others with the guest that finds its own mistakes. */
const sanitized = process.env.CAISSON_TEST_GUEST === "sanitized";
export const guestPath = join(root, ".build/bin", sanitized ? "caisson-guest-sanitized" : "caisson-guest");
export const engines: readonly EngineName[] = sanitized ? ["container"] : ["container", "gvisor"];
/** An ordinary user runs the tests: what only root can set up or judge is left out, with its reason. */
export const ordinary = process.geteuid?.() !== 0;
export const soak = process.env.CAISSON_SOAK === "1";
/** Printed by the test command; the same seed repeats the same choices. */
export const seed = Number(process.env.CAISSON_SEED ?? 1);

export interface TestCaisson extends AsyncDisposable {
  caisson: Caisson;
  home: string;
}

/** A Caisson with a data folder of its own; disposing checks that nothing was left behind (SBX-17). */
export async function openTestCaisson(options: Pick<CaissonOptions, "network"> = {}): Promise<TestCaisson> {
  const home = await makeDataFolder("/var/tmp/caisson-test-");
  const caisson = openCaisson({ home, root, guestPath, ...options });
  return {
    caisson,
    home,
    [Symbol.asyncDispose]: async () => {
      await caisson[Symbol.asyncDispose]();
      await removeDataFolder(home);
    },
  };
}

export interface TestEngine extends AsyncDisposable {
  engine: Engine;
  home: string;
}

/** An engine with the real guest and nothing above it. */
export async function openTestEngine(name: EngineName, guestArgs?: readonly string[]): Promise<TestEngine> {
  const home = await makeDataFolder("/var/tmp/caisson-test-");
  const bin = join(root, ".build/bin");
  const image = await prepareHostImage({ home });
  const helperPath = join(bin, "caisson-helper");
  const engine = await createOciEngine({ name, home, image, guestPath, helperPath, ...(guestArgs && { guestArgs }) });
  return {
    engine,
    home,
    [Symbol.asyncDispose]: async () => {
      await engine[Symbol.asyncDispose]();
      await removeDataFolder(home);
    },
  };
}

/** Whether this machine has a program, and so its sandboxes do. */
export function hasProgram(name: string): boolean {
  return existsSync(join("/usr/bin", name));
}
