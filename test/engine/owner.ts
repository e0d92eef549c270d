// Makes a sandbox, says its id, and waits to be killed.
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { limits, openEngine } from "./fixture.ts";

const [, , name, home = "", puppetPath = ""] = process.argv;
const owned = { home, puppetPath, [Symbol.asyncDispose]: async () => {} };
const engine = await openEngine(name as EngineName, owned);
const { id } = await engine.create({ limits });
console.log(id);
setInterval(() => {}, 1000);
