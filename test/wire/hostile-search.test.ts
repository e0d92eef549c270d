import { expect, it } from "vitest";
import { ValueRedactor } from "../../packages/server/src/dlp/redactor.ts";
import { searchFolder } from "../../packages/server/src/sandboxes/search.ts";
import { WireConnection } from "../../packages/server/src/wire/connection.ts";
import { frameTypes } from "../../packages/server/src/wire/frame.ts";
import { PuppetGuest } from "./puppet-guest.ts";

it("[FIL-05] ends a search in which a guest finds more than was asked for", async () => {
  using guest = new PuppetGuest();
  const attached = WireConnection.attach(guest, new Promise<string>(() => {}));
  await guest.meet();
  await guest.say(guest.hello(0), () => false);
  const wire = await attached;
  const rows = searchFolder(wire, "", { name: "*", limit: 2 }, new ValueRedactor())[Symbol.asyncIterator]();
  const first = rows.next();
  const row = Buffer.alloc(33, "x");
  row.writeUInt32LE(1, 4);
  row.writeUInt32LE(0, 8);
  const payload = Buffer.concat([row, row, row]);
  await guest.say(guest.encode({ type: frameTypes.data, channel: 1, stream: 1, payload }), () => false);
  expect((await first).value).toMatchObject({ path: "x" });
  expect((await rows.next()).value).toMatchObject({ path: "x" });
  const third = rows.next();
  third.catch(() => undefined);
  wire.close("done"); // the worker would never end
  await expect(third).rejects.toThrow(/invalid search result/);
});
