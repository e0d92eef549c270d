import { existsSync, globSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { builtIn } from "../../packages/server/src/package-install/built-in.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";

const isManaged = globSync("/usr/{,local/}lib{,64}/python3*/EXTERNALLY-MANAGED").some((path) => existsSync(path));
const hasPip = (await builtIn("pip")) !== null;

/** Debian's own text names packages of the host's apt, which a sandbox cannot install. */
describe.skipIf(!isManaged || !hasPip).each(engines)("pip in a sandbox on %s", (engine) => {
  let test: TestCaisson;
  beforeAll(async () => {
    test = await openTestCaisson();
  });
  afterAll(() => test[Symbol.asyncDispose]());

  it("[EXE-10] refuses with the way to install, which code cannot change", async () => {
    await using sandbox = await test.caisson.createSandbox({ engine });
    const pip = ["python3", "-m", "pip", "install", "six"];
    const { exit_code, stderr } = await sandbox.exec({ command: pip });
    expect(exit_code).not.toBe(0);
    expect(stderr).toContain("caisson install SANDBOX pip PACKAGE");
    expect(stderr).toContain("install_package");
    expect(stderr).not.toContain("apt install");
    const change = "for f in /usr/lib*/python3*/EXTERNALLY-MANAGED; do : > $f; done; rm -f $f; test -s $f";
    expect(await sandbox.exec({ command: change })).toMatchObject({ exit_code: 0 });
  });
});
