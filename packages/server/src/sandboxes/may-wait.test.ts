import { describe, expect, it } from "vitest";
import { plainConfig } from "../core/image-record.ts";
import { mayWait } from "./may-wait.ts";

const of = (
  env: Record<string, string>,
  searchPath: string | null = null,
  source: "catalogue" | "spec" | "oci" = "spec",
) => mayWait({ source, config: { ...plainConfig, env, searchPath } });

describe("interpreters of an image", () => {
  it.each([
    [{}, null],
    [{ MPLBACKEND: "Agg", LANG: "C" }, "/opt/bin:/usr/bin:/bin"],
    [{ NODE_PATH: "/usr/local/lib/node_modules", PYTHONPATH: "/opt/lib:/usr/lib/x" }, null],
  ])("[S20] may wait as root where they load what is in the image: %j", (env, searchPath) => {
    expect(of(env, searchPath)).toBe(true);
    expect(of(env, searchPath, "catalogue")).toBe(true);
    expect(of(env, searchPath, "oci")).toBe(false);
  });

  it.each([
    [{ PYTHONPATH: "/workspace" }, null],
    [{ PYTHONPATH: "/usr/lib:" }, null],
    [{ PYTHONPATH: "/usr/../workspace" }, null],
    [{ PYTHONPATH: "/usr//../tmp" }, null],
    [{ PYTHONPATH: "//workspace" }, null],
    [{ PYTHONPATH: "lib" }, null],
    [{ PYTHONHOME: "/usr" }, null],
    [{ PYTHONSTARTUP: "/usr/start.py" }, null],
    [{ NODE_OPTIONS: "--require=/workspace/x.js" }, null],
    [{ NODE_PATH: "/home/user/node_modules" }, null],
    [{ LD_LIBRARY_PATH: "/tmp" }, null],
    [{ GCONV_PATH: "/usr/lib/gconv" }, null],
    [{ OPENSSL_CONF: "/workspace/openssl.cnf" }, null],
    [{}, "/workspace/bin:/usr/bin"],
    [{}, "/usr/bin:/home/user/.local/bin"],
  ])("[S20] may not where user code could have a say in it: %j %s", (env, searchPath) => {
    expect(of(env, searchPath)).toBe(false);
  });
});
