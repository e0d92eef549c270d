import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { HelloFinder } from "./hello.ts";
import { wireLimits } from "./limits.ts";

it("finds the guest's answer behind a torn frame of a former owner, however it is cut", () => {
  const nonce = randomBytes(16);
  const old = randomBytes(70_000);
  const hello = Buffer.concat([Buffer.alloc(wireLimits.headerBytes, 9), nonce, Buffer.from("rest")]);
  for (const cut of [1, 7, 64, 65_536]) {
    const finder = new HelloFinder(nonce);
    const all = Buffer.concat([old, hello]);
    let found: Buffer | undefined;
    let at = 0;
    for (; at < all.length && found === undefined; at += cut) found = finder.push(all.subarray(at, at + cut));
    expect(found).toBeDefined();
    expect(Buffer.concat([found ?? Buffer.alloc(0), all.subarray(at)])).toEqual(hello);
  }
});
