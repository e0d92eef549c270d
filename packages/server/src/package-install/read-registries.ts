import { AppError } from "../core/errors.ts";
import type { PackageManager, Registries, Registry } from "../core/package.ts";
import type { MachineFiles } from "./machine-files.ts";
import { npmRegistry } from "./npm-registry.ts";
import { pipRegistry } from "./pip-registry.ts";

export async function readRegistries(host: MachineFiles): Promise<Registries> {
  return { pip: await usable(host, pipRegistry), npm: await usable(host, npmRegistry) };
}

async function usable(host: MachineFiles, read: (host: MachineFiles) => Promise<Registry>): Promise<Registry> {
  try {
    return await read(host);
  } catch (error) {
    if (error instanceof AppError) return { ...noRegistry, problem: error.message };
    throw error;
  }
}

const noRegistry: Registry = {
  variables: {},
  hosts: [],
  folders: [],
  trust: {},
  certificates: null,
  keepsFiles: false,
  problem: "none is configured",
};
export const noRegistries: Record<PackageManager, Registry> = { pip: noRegistry, npm: noRegistry };
