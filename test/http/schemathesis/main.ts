// npm run schemathesis [-- OPTIONS]: all checks of schemathesis over openapi.json, against a server of its own on loopback.
import { engines } from "../../harness.ts";
import { openTestServer } from "../server.ts";
import { findSchemathesis, runSchemathesis } from "./run.ts";

const folder = await findSchemathesis();
if (folder === undefined) throw new Error("PyPI has no schemathesis for this machine: see pip's configuration");
const [engine = "container"] = engines;
const server = await openTestServer(engine);
try {
  const { code, output } = await runSchemathesis(folder, server, process.argv.slice(2));
  console.log(output);
  for (const error of server.errors) console.error(error);
  process.exitCode = server.errors.length > 0 ? 1 : (code ?? 1);
} finally {
  await server[Symbol.asyncDispose]();
}
