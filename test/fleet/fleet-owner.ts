import { toCommand } from "../../packages/server/src/core/command.ts";
import { callerOf, openFleet } from "./fixture.ts";

/**
 * A daemon's fleet in a process of its own: makes sandboxes, writes into them and destroys some, and says on a line of its
 * own what it was told is done, until somebody kills it.
 */
const [home = "", engine = "", round = ""] = process.argv.slice(2);
if (engine !== "gvisor" && engine !== "container") throw new Error(`no engine ${engine}`);

const { fleet } = await openFleet(home, { engine, poolSize: 1 });
const say = (...words: string[]) => console.log(words.join(" "));
const caller = (request: string) => ({ ...callerOf("alice"), requestId: request });

for (let number = 0; ; number++) {
  const request = `r${round}-${number}`;
  const ids = (await fleet.list(caller(request), { limit: 10 })).map(({ id }) => id).reverse();
  const id = ids[number % 3];
  if (id === undefined) {
    const { record } = await fleet.create(caller(request), {});
    say("created", request, record.id);
  } else if (number % 8 === 7) {
    say("ending", request, id);
    await fleet.destroy(caller(request), id);
    say("destroyed", request, id);
  } else {
    const line = `echo ${request} >> log`;
    await fleet.run(caller(request), id, toCommand({ what: { line } }), {}, (sandbox) => sandbox.run());
    say("ran", request, id);
  }
}
