import { expect, it } from "vitest";
import { ValueRedactor } from "../../packages/server/src/dlp/redactor.ts";
import { WireFiles } from "../../packages/server/src/sandboxes/files.ts";
import { WireConnection } from "../../packages/server/src/wire/connection.ts";
import { frameTypes } from "../../packages/server/src/wire/frame.ts";
import { PuppetGuest } from "./puppet-guest.ts";

const success = Buffer.alloc(32);

/** Answers a file operation with these bytes, and says that it has succeeded. */
async function answered<T>(bytes: Buffer, operation: (files: WireFiles) => Promise<T>): Promise<T> {
  using guest = new PuppetGuest();
  const attached = WireConnection.attach(guest, new Promise<string>(() => {}));
  await guest.meet();
  await guest.say(guest.hello(0), () => false);
  const wire = await attached;
  const unused = () => Promise.reject(new Error("no watch"));
  const files = new WireFiles({ wire, touched: () => undefined, watchAll: unused, redactor: new ValueRedactor() });
  const outcome = operation(files);
  outcome.catch(() => undefined);
  const frames = [
    ...(bytes.length === 0 ? [] : [{ type: frameTypes.data, channel: 1, stream: 1, payload: bytes }]),
    { type: frameTypes.end, channel: 1, stream: 1, offset: bytes.length },
    { type: frameTypes.end, channel: 2, stream: 1 },
    { type: frameTypes.exit, stream: 1, payload: success },
  ];
  for (const frame of frames) await guest.say(guest.encode(frame), () => false);
  const result = await outcome.finally(() => wire.close("done"));
  return result;
}

function row(name: string): Buffer {
  const bytes = Buffer.alloc(32);
  bytes.writeUInt32LE(0o100_644, 0);
  bytes.writeUInt32LE(name.length, 4);
  return Buffer.concat([bytes, Buffer.from(name)]);
}
const endRow = Buffer.alloc(32);
endRow.writeUInt32LE(0xffff_ffff, 4);
const trailer = Buffer.concat([Buffer.alloc(32), Buffer.from("packed\r\n")]);
const read = async (files: WireFiles) => Buffer.concat(await Array.fromAsync(files.pack("")));

it("[S90] takes a list that ends with its mark, and none without", async () => {
  const list = (files: WireFiles) => files.list("");
  expect((await answered(Buffer.concat([row("a"), endRow]), list)).map(({ name }) => name)).toEqual(["a"]);
  await expect(answered(row("a"), list)).rejects.toMatchObject({ code: "unavailable" });
  await expect(answered(Buffer.alloc(0), list)).rejects.toMatchObject({ code: "unavailable" });
});

it("[S90] takes an archive that ends with its mark, and none without", async () => {
  const body = Buffer.alloc(1024);
  expect(await answered(Buffer.concat([body, trailer]), read)).toEqual(body);
  await expect(answered(body, read)).rejects.toMatchObject({ code: "unavailable" });
  await expect(answered(Buffer.concat([body, trailer.subarray(0, 39)]), read)).rejects.toMatchObject({
    code: "unavailable",
  });
});
