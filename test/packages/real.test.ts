import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkAllowRule } from "../../packages/server/src/egress/check-rule.ts";
import { hostFiles } from "../../packages/server/src/package-install/machine-files.ts";
import { readRegistries } from "../../packages/server/src/package-install/read-registries.ts";
import { ordinary, soak } from "../harness.ts";
import type { Api } from "../http/api.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { reachableRegistries, whyLeftOut } from "./can-get.ts";

const { pip: pipWorks, npm: npmWorks } = await reachableRegistries();

/** A sandbox with no rule of its own, and this machine's registries. */
describe.skipIf(ordinary)("real packages on gvisor", () => {
  let server: TestServer;
  let api: Api;
  let id: string;
  beforeAll(async () => {
    const registries = await readRegistries(hostFiles(process.env, checkAllowRule));
    server = await openTestServer("gvisor", { packages: { registries, mustPin: false } });
    api = await server.as("agent");
    id = await api.create({ storage_mb: 1024 });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const at = (rest: string) => `/api/v1/sandboxes/${id}/${rest}`;
  const install = async (manager: string, ...packages: string[]) =>
    (await api.post(at("packages"), { manager, packages })).json;
  const run = async (language: string, code: string) => (await api.post(at("execute_code"), { language, code })).json;

  it.runIf(pipWorks)(
    `[EXE-10] [NET-13] installs and loads a native wheel of pip${pipWorks ? "" : whyLeftOut}`,
    async () => {
      const { exit_code: code, installed, output } = await install("pip", "markupsafe");
      expect([code, output]).toEqual([0, expect.any(String)]);
      const hash = expect.stringMatching(/^sha256:[0-9a-f]{64}$/);
      expect(installed).toEqual([{ name: expect.stringMatching(/^markupsafe$/i), version: expect.any(String), hash }]);
      const { stdout } = await run("python", "import markupsafe._speedups as s; print(s.__file__)");
      expect(stdout).toMatch(/\.so\n$/);
    },
  );

  it.runIf(pipWorks && soak)("installs and uses numpy", async () => {
    expect((await install("pip", "numpy")).exit_code).toBe(0);
    expect((await run("python", "import numpy; print(numpy.arange(4).sum())")).stdout).toBe("6\n");
  });

  it.runIf(npmWorks)(`[EXE-10] [NET-13] installs and loads a package of npm${npmWorks ? "" : whyLeftOut}`, async () => {
    const { exit_code: code, installed, output } = await install("npm", "is-number@7.0.0");
    expect([code, output]).toEqual([0, expect.any(String)]);
    expect(installed).toMatchObject([{ name: "is-number", version: "7.0.0" }]);
    expect((await run("node", 'console.log(require("is-number")(5))')).stdout).toBe("true\n");
  });
});
