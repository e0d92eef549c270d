/** The image mcp-runtime, made once for all test runs of this checkout until its specification changes. */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Service } from "../../packages/server/src/compose/service.ts";
import type { ChosenImage } from "../../packages/server/src/core/image-record.ts";
import { checkAllowRule } from "../../packages/server/src/egress/check-rule.ts";
import { makeEngineFolders } from "../../packages/server/src/engines/oci/sandbox-folder.ts";
import { digestOf } from "../../packages/server/src/images/digest.ts";
import { catalogueFolder } from "../../packages/server/src/images/read-catalogue.ts";
import { readSpec } from "../../packages/server/src/images/read-spec.ts";
import { findPackages } from "../../packages/server/src/package-install/find-packages.ts";
import { hostFiles } from "../../packages/server/src/package-install/machine-files.ts";
import { openDeployment } from "../fleet/deployment.ts";
import { makeHome, settings } from "../fleet/fixture.ts";
import { root } from "../harness.ts";
import { admin, logOf } from "../images/fixture.ts";

const name = "mcp-runtime";
const known = join(root, ".build/test-images");

/** This machine's own sources of packages. */
export function ownPackages() {
  return findPackages({
    host: hostFiles(process.env, checkAllowRule),
    hosts: [],
    checkFolder: async () => undefined,
    log: () => undefined,
  });
}

/** Puts its layer into a data folder that no engine has open yet. */
export async function placeRuntimeImage(home: string): Promise<ChosenImage> {
  const text = await readFile(join(catalogueFolder(root), `${name}.yaml`), "utf8");
  const made = join(known, digestOf(await readSpec(text)).replace("sha256:", ""));
  if (!existsSync(made)) await make(text, made);
  const [layerId = ""] = await readdir(made);
  const layers = join(await makeEngineFolders(home), "layers");
  await mkdir(layers, { recursive: true, mode: 0o700 });
  await copy(join(made, layerId), layers);
  return { name, layerId };
}

async function make(spec: string, place: string): Promise<void> {
  const { registries, apt } = await ownPackages();
  await using home = await makeHome();
  await using service = await openDeployment(home.home, {
    settings,
    packages: { registries, apt, mustPin: false },
    onError: () => undefined,
  });
  const { record } = await service.imageBuilds.importSpec(admin, spec);
  const end = (await logOf(service, record.id)).at(-1);
  const { layerId } = service.images.get(record.id);
  if (layerId === null) throw new Error(`cannot make the image ${name}: ${JSON.stringify(end)}`);
  const draft = join(known, `.${randomUUID()}`);
  await mkdir(draft, { recursive: true });
  await copy(join(home.home, "engine/layers", layerId), draft);
  await rename(draft, place).catch(() => rm(draft, { recursive: true })); // another file's tests were first
  await service.imageBuilds.delete(admin, record.id);
}

async function copy(from: string, to: string): Promise<void> {
  await promisify(execFile)("/usr/bin/cp", ["--archive", "--sparse=always", "--reflink=auto", from, to]);
}

/** So that the data folder is left empty. */
export async function removeLayers({ layers }: Pick<Service, "layers">): Promise<void> {
  const all = await layers.list();
  for (const { id } of all.sort((one, other) => other.below.length - one.below.length)) await layers.remove(id);
}
