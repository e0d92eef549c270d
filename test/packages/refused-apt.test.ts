import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";

describe.each(engines)("apt in a sandbox on %s", (engine) => {
  let test: TestCaisson;
  beforeAll(async () => {
    test = await openTestCaisson();
  });
  afterAll(() => test[Symbol.asyncDispose]());

  it("[EXE-10] fails with a last line that names the way to install, whatever shell starts it", async () => {
    await using sandbox = await test.caisson.createSandbox({ engine });
    const install = "apt-get install -y tree";
    const code = `import subprocess, sys\nsys.exit(subprocess.run(${JSON.stringify(install.split(" "))}).returncode)`;
    const runs = [
      await sandbox.exec({ command: "apt update" }),
      await sandbox.exec({ command: install.split(" ") }),
      await sandbox.exec({ command: ["/bin/bash", "-l", "-c", install] }),
      await sandbox.exec({ command: ["/bin/sh", "-c", "apt install tree"], env: { LANG: "de_DE.UTF-8" } }),
      await sandbox.executeCode({ language: "python", code }),
    ];
    for (const { exit_code, stderr } of runs) {
      expect(exit_code).not.toBe(0);
      expect(stderr.trim().split("\n").at(-1)).toBe(
        "apt installs nothing in a sandbox. Debian packages come with an image: list_runtimes, or caisson image catalogue; others with install_package, or: caisson install SANDBOX pip|npm PACKAGE",
      );
    }
  });

  it("[EXE-10] adds nothing to what succeeds, and cannot be changed by code", async () => {
    await using sandbox = await test.caisson.createSandbox({ engine });
    const seen = await sandbox.exec({ command: "! command -v /usr/bin/apt-get >/dev/null || apt-get --version" });
    expect(seen).toMatchObject({ exit_code: 0, stderr: "" });
    const change = "f=$(command -v apt-get); : > $f; rm -f $f; mv $f /tmp; grep -q install_package $f";
    expect(await sandbox.exec({ command: change })).toMatchObject({ exit_code: 0 });
  });
});
