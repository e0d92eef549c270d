import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { builtIn } from "../../packages/server/src/package-install/built-in.ts";
import { engines } from "../harness.ts";
import { wheel } from "../packages/made.ts";
import { caisson, Up, upTimeoutMs } from "./up.ts";

const hasPip = (await builtIn("pip")) !== null;

describe.runIf(hasPip)("packages of a daemon", () => {
  it(
    "[EXE-10] [NET-13] come from a folder that this machine's pip is configured for, read-only, without any network",
    async () => {
      const folder = await mkdtemp("/var/tmp/caisson-wheels-");
      await chmod(folder, 0o755);
      await writeFile(join(folder, "caissontest-1.0-py3-none-any.whl"), wheel("caissontest", "1.0"), { mode: 0o644 });
      await writeFile(join(folder, "pip.conf"), `[global]\nno-index = yes\nfind-links = ${folder}\n`);
      const pinned = { CAISSON_PACKAGES_PINNED: "true", CAISSON_MAX_RAM_MB: "512" };
      const variables = { PIP_CONFIG_FILE: join(folder, "pip.conf"), PIP_FIND_LINKS: "", ...pinned };
      try {
        await using up = await Up.start({ variables });
        for (const engine of engines) {
          const id = await up.create(engine);
          const outcome = await caisson(["install", id, "pip", "caissontest==1.0"], up.variables);
          expect(outcome).toEqual({ code: 0, stdout: "caissontest 1.0\n", stderr: "" });
          expect(await up.exec(id, "python3 -c 'import caissontest; print(caissontest.told())'")).toBe(
            "caissontest 1.0\n",
          );
          expect(await up.exec(id, "touch /opt/caisson/packages/pip-0/x || echo refused")).toBe("refused\n");
          const { stdout } = await caisson(["packages", id, "--json"], up.variables);
          expect(JSON.parse(stdout)).toMatchObject([{ manager: "pip", name: "caissontest", version: "1.0" }]);
          const missing = await caisson(["install", id, "pip", "nosuchpackage==1"], up.variables);
          expect(missing).toMatchObject({ code: 1, stdout: "" });
          expect(missing.stderr).toContain("nosuchpackage");
          const loose = await caisson(["install", id, "pip", "caissontest"], up.variables);
          expect(loose.code).not.toBe(0);
          expect(loose.stderr).toContain("policy requires a version");
          await up.delete(`/api/v1/sandboxes/${id}`);
        }
      } finally {
        await rm(folder, { recursive: true });
      }
    },
    upTimeoutMs,
  );
});
