import { openFleet } from "../fleet/fixture.ts";
import { engines } from "../harness.ts";

/** A daemon in a process of its own that makes a template, and says each step, until somebody kills it. */
const [home = "", name = "container"] = process.argv.slice(2);
const engine = engines.find((one) => one === name) ?? "container";
const { templateBuilds, journal } = await openFleet(home, { engine });
const principal = { id: "key", name: "key", namespace: "default", role: "operator" } as const;
using news = journal.read();
await templateBuilds.create(
  { principal, requestId: "request" },
  {
    name: "half",
    files: [{ path: "a", data: Buffer.alloc(1_000_000, "a") }],
    warmUp: { language: "python", code: "import time; time.sleep(1000)" },
  },
);
for (;;) {
  const { value } = await news.next();
  if (value.type === "template.building") console.log(value.data.step);
}
