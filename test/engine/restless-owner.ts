// Stops, starts, resets and changes a kept sandbox without end, saying each step, and waits to be killed at any of them.
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { limits, openEngine, Puppet } from "./fixture.ts";

const [, , name, home = "", puppetPath = "", id = "", mode = "keep"] = process.argv;
const owned = { home, puppetPath, [Symbol.asyncDispose]: async () => {} };
const engine = await openEngine(name as EngineName, owned);

for (let round = 0; ; round++) {
  console.log(`starting ${round}`);
  const sandbox = await engine.start(id);
  console.log(`started ${round}`);
  using puppet = new Puppet(sandbox);
  await puppet.run(`open("/workspace/round", "w").write("${round}")`);
  await engine.updateLimits(id, { ...limits, processes: 10 + (round % 20) });
  await engine.pause(id);
  console.log(`stopping ${round}`);
  await (mode === "reset" ? engine.reset(id) : engine.stop(id));
  console.log(`stopped ${round}`);
}
