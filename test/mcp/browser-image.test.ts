import { mkdtemp, rm } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { checkAllowRule } from "../../packages/server/src/egress/check-rule.ts";
import { catalogueFolder, readCatalogue } from "../../packages/server/src/images/read-catalogue.ts";
import { findPackages } from "../../packages/server/src/package-install/find-packages.ts";
import { hostFiles } from "../../packages/server/src/package-install/machine-files.ts";
import { engines, ordinary, root, soak } from "../harness.ts";
import { openBrowsing, site } from "./browsing.ts";

/** Minutes, and 150 MB of other people's packages: with this machine's own registries. */
describe.skipIf(!soak || ordinary)("the image browser, from this machine's registries", () => {
  it.each(engines)("[IMG-02] [WEB-03] is brought by one call, and pages are opened in it (%s)", async (engine) => {
    const catalogue = await readCatalogue(catalogueFolder(root), (error) => expect(error).toBeUndefined());
    const { registries, apt } = await findPackages({
      host: hostFiles(process.env, checkAllowRule),
      hosts: [],
      checkFolder: async () => undefined,
      log: () => undefined,
    });
    const folder = await mkdtemp("/var/tmp/caisson-test-");
    try {
      await using field = await openBrowsing(engine, folder, { registries, apt, catalogue, mustPin: false });
      await field.allow(["allowed.example:80", { host: "allowed.example", port: 443, inspect: true }]);
      const { result, images } = await field.browse({ url: `${site}/made`, wait_for: "li.late", screenshot: true });
      expect(result).toMatchObject({ title: "Made by a script", screenshot: { width: 1280, height: 800 } });
      expect(result.content).toContain("# Hello from data");
      expect(images).toHaveLength(1);
      const secure = await field.browse({ url: "https://allowed.example/made", wait_for: "h1" });
      expect(secure.result).toMatchObject({ title: "Made by a script" });
      const record = await field.server.fleet.get(
        { principal: { id: "k", name: "k", namespace: "default", role: "agent" }, requestId: "r" },
        result.sandbox_id,
      );
      expect(record).toMatchObject({ image: "browser", engine });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
