import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Service } from "../../packages/server/src/compose/service.ts";
import type { CatalogueEntry } from "../../packages/server/src/core/image-spec.ts";
import { checkAllowRule } from "../../packages/server/src/egress/check-rule.ts";
import { catalogueFolder, readCatalogue } from "../../packages/server/src/images/read-catalogue.ts";
import { findPackages } from "../../packages/server/src/package-install/find-packages.ts";
import { hostFiles } from "../../packages/server/src/package-install/machine-files.ts";
import { openDeployment } from "../fleet/deployment.ts";
import { type FleetHome, makeHome, settings } from "../fleet/fixture.ts";
import { engines, ordinary, root, soak } from "../harness.ts";
import { admin, logOf, runIn } from "./fixture.ts";

const GiB = 1024 ** 3;
const errors: unknown[] = [];
const catalogue = await readCatalogue(catalogueFolder(root), (error) => void errors.push(error));
const entry = (name: string) => catalogue.find(({ spec }) => spec.name === name) as CatalogueEntry;

describe("the catalogue", () => {
  it("[IMG-02] has Skills Runtime and Data Science, each a small file that is read without a complaint", () => {
    expect(errors).toEqual([]);
    const skills = entry("skills-runtime").spec;
    expect(skills.debian).toEqual(expect.arrayContaining(["python3>=3.12", "nodejs", "git", "curl", "jq"]));
    expect(skills.pip).toEqual(expect.arrayContaining(["requests", "pyyaml", "pillow", "openpyxl"]));
    expect(skills.aliases).toContain("mcpgateway/sandbox-python:3.12");
    // A name that says 3.12 has no older Python.
    expect(entry("data-science").spec.debian).toContain("python3>=3.12");
    const wanted = ["pandas", "numpy", "scipy", "scikit-learn", "matplotlib"];
    expect(entry("data-science").spec.pip).toEqual(expect.arrayContaining(wanted));
    expect(entry("mcp-runtime").spec.debian).toEqual(expect.arrayContaining(["python3>=3.11", "python3-venv", "git"]));
    expect(entry("mcp-runtime").spec.pip).toContain("uv");
    for (const { text } of catalogue) expect(text.split("\n").length).toBeLessThan(60);
  });
});

const imports = {
  "skills-runtime":
    "python3 -c 'import sys; assert sys.version_info >= (3, 12); import requests, yaml, PIL.Image, openpyxl, docx, pypdf' && node -e 'require(\"typescript\")' && git --version && curl --version && jq --version",
  "data-science":
    "python3 -c 'import numpy, pandas, scipy.stats, sklearn.linear_model, matplotlib.pyplot as plot; plot.plot([1, 2]); plot.savefig(\"x.png\")'",
  "mcp-runtime":
    "python -c 'import sys, venv, zoneinfo; assert sys.version_info >= (3, 11); zoneinfo.ZoneInfo(\"Europe/Paris\")' && python3 -m pip --version && uv --version && git --version && node -e 'assert.ok(process.versions.node.startsWith(\"24.\"))' && npm --version && npx --version && [ /data -ef /workspace ] && [ -d /app ]",
};

/** Minutes, and gigabytes of other people's packages: with this machine's own registries. */
describe.skipIf(!soak || ordinary)("images of the catalogue, from this machine's registries", () => {
  let home: FleetHome;
  let service: Service;

  beforeAll(async () => {
    home = await makeHome();
    const { registries, apt } = await findPackages({
      host: hostFiles(process.env, checkAllowRule),
      hosts: [],
      checkFolder: async () => undefined,
      log: () => undefined,
    });
    service = await openDeployment(home.home, {
      settings: { ...settings, limits: { memoryBytes: 2 * GiB, storageBytes: GiB, processes: 256 } },
      packages: { registries, apt, catalogue, mustPin: false, keepBytes: 2 * GiB },
      onError: (error) => void errors.push(error),
    });
  });
  afterAll(async () => {
    for (const { id } of service?.images.list() ?? []) await service.imageBuilds.delete(admin, id);
    await service?.[Symbol.asyncDispose]();
    await home?.[Symbol.asyncDispose]();
  });

  it.each(Object.keys(imports) as (keyof typeof imports)[])(
    "[IMG-02] %s is brought by one call, and once",
    async (name) => {
      const { record } = await service.imageBuilds.importFromCatalogue(admin, name);
      expect((await logOf(service, record.id)).at(-1)).toMatchObject({ state: "ready", error: null });
      expect(await service.imageBuilds.importFromCatalogue(admin, name)).toMatchObject({ isNew: false });
      for (const engine of engines) {
        const { exit_code, stderr } = await runIn(service, name, engine, imports[name]);
        expect([engine, exit_code, stderr.slice(-2_000)]).toEqual([engine, 0, expect.any(String)]);
      }
    },
  );
});
