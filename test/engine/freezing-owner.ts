// Freezes a kept sandbox and starts it again without end, saying each step, and waits to be killed at any of them.
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { limits, openEngine, Puppet } from "./fixture.ts";

const [, , name, home = "", puppetPath = "", id = "", mode = "keep"] = process.argv;
const owned = { home, puppetPath, [Symbol.asyncDispose]: async () => {} };
const engine = await openEngine(name as EngineName, owned);

for (let round = 0; ; round++) {
  if (mode === "build") {
    const made = await engine.create({ limits, keep: round % 2 === 0 });
    console.log(`freezing ${round}`);
    const layer = await engine.freeze(made.id, { keep: false });
    console.log(`removing ${round}`);
    await engine.removeLayer(layer.id);
    continue;
  }
  console.log(`starting ${round}`);
  using puppet = new Puppet(await engine.start(id));
  await puppet.run(`open("/workspace/round${round}", "w").write("${round}")`);
  console.log(`freezing ${round}`);
  if (mode === "copy") {
    const layer = await engine.freeze(id, { keep: true, copy: true });
    await engine.removeLayer(layer.id);
    await engine.stop(id);
  } else await engine.freeze(id, { keep: true });
  console.log(`frozen ${round}`);
  if (mode === "keep" && round % 4 === 3) await engine.reset(id);
}
