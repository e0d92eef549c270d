import { describe, expect, it } from "vitest";
import { systemClock } from "../lib/clock.ts";
import { UrlSigner } from "./url-signer.ts";

const pass = {
  keyId: "key_1",
  namespace: "default",
  sandboxId: "s1",
  method: "GET",
  path: "a/b",
  expiresAtMs: 1000,
  mostBytes: null,
} as const;

describe("a signed pass", () => {
  it("[FIL-06] opens what it was signed for, until its time is over", () => {
    let now = 0;
    const signer = new UrlSigner({ ...systemClock, wallMs: () => now });
    const token = signer.sign(pass);
    expect(signer.open(token, "GET")).toMatchObject(pass);
    expect(() => signer.open(token, "PUT")).toThrow(/invalid, expired or/);
    now = 1000;
    expect(() => signer.open(token, "GET")).toThrow(/expired/);
  });

  it("[FIL-06] is used once, unless it is given back", () => {
    const signer = new UrlSigner({ ...systemClock, wallMs: () => 0 });
    const opened = signer.open(signer.sign(pass), "GET");
    signer.use(opened);
    expect(() => signer.use(opened)).toThrow(/already used/);
    signer.giveBack(opened);
    signer.use(opened);
  });

  it("cannot be changed, or signed by another", () => {
    const signer = new UrlSigner({ ...systemClock, wallMs: () => 0 });
    const [payload = "", mac] = signer.sign(pass).split(".");
    const forged = Buffer.from(payload, "base64url").toString().replace("a/b", "a/c");
    expect(() => signer.open(`${Buffer.from(forged).toString("base64url")}.${mac}`, "GET")).toThrow(
      /invalid, expired or/,
    );
    expect(() => new UrlSigner({ ...systemClock, wallMs: () => 0 }).open(`${payload}.${mac}`, "GET")).toThrow(
      /invalid, expired or/,
    );
    for (const odd of ["", ".", "a.b", payload]) expect(() => signer.open(odd, "GET")).toThrow(/invalid, expired or/);
  });
});
