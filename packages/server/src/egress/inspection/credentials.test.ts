import { describe, expect, it } from "vitest";
import type { HeaderSecrets } from "../../core/secret.ts";
import { Credentials } from "./credentials.ts";

const value = "sk-real-0123456789";
const placeholder = `caisson-secret-${"a1".repeat(20)}`;
const unknown = `caisson-secret-${"b2".repeat(20)}`;
const secrets: HeaderSecrets = {
  placeholders: () => [
    { placeholder, name: "API_KEY", header: "Authorization", hosts: ["api.example.com"], format: "Bearer {}" },
  ],
  reveal: async (sandboxId, asked, host) =>
    sandboxId === "s1" && asked === placeholder && host === "api.example.com" ? Buffer.from(value) : undefined,
};
const unheard = () => () => undefined;
const credentials = new Credentials("s1", secrets, unheard);

function fill(fields: readonly string[], { host = "api.example.com", path = "/", isInspected = true } = {}) {
  return credentials.fill(host, { path, fields, isInspected });
}

describe("a placeholder in a request's field", () => {
  it.each([
    [`Bearer ${placeholder}`, `Bearer ${value}`],
    [placeholder, `Bearer ${value}`],
    [`token=${placeholder}, x=${placeholder}`, `token=${value}, x=${value}`],
    [
      `Basic ${Buffer.from(`user:${placeholder}`).toString("base64")}`,
      `Basic ${Buffer.from(`user:${value}`).toString("base64")}`,
    ],
  ])("[NET-12] becomes the value, in %s", async (given, sent) => {
    expect(await fill(["accept", "*/*", "authorization", given])).toMatchObject({
      fields: ["accept", "*/*", "authorization", sent, "accept-encoding", "identity"],
    });
  });

  it.each([
    ["to another host", ["authorization", placeholder], { host: "evil.example.com" }, /not bound to evil/],
    ["in another field", ["x-trace", placeholder], {}, /goes into the field Authorization, not into x-trace/],
    ["that stands for nothing", ["authorization", unknown], {}, /does not have/],
    ["in the path", ["accept", "*/*"], { path: `/?key=${placeholder}` }, /in the path/],
    ["where anybody can read it", ["authorization", placeholder], { isInspected: false }, /looked into/],
  ])("[NET-12] %s is refused, and no value is asked for", async (_, fields, options, reason) => {
    const filled = await fill(fields, options);
    expect(filled.objection).toMatch(reason);
    expect(JSON.stringify(filled)).not.toContain(value);
  });

  it("[NET-12] whose value is gone, or would end the field, is refused", async () => {
    for (const [bytes, reason] of [
      [undefined, /no longer there/],
      [Buffer.from("line\r\nX-Other: 1"), /does not fit/],
    ] as const) {
      const other = new Credentials("s1", { ...secrets, reveal: async () => bytes }, unheard);
      const filled = await other.fill("api.example.com", {
        path: "/",
        fields: ["authorization", placeholder],
        isInspected: true,
      });
      expect(filled.objection).toMatch(reason);
    }
  });

  it("[NET-12] is what an answer's fields show where the host sends the value back", async () => {
    const basic = Buffer.from(`user:${value}`).toString("base64");
    for (const given of [`Bearer ${placeholder}`, `Basic ${Buffer.from(`user:${placeholder}`).toString("base64")}`]) {
      const filled = await fill(["authorization", given]);
      if (filled.objection !== undefined) throw new Error(filled.objection);
      const shown = filled.mask(["x-echo", `got ${value}!`, "x-basic", `Basic ${basic}`]);
      expect(shown[1]).toBe(`got ${placeholder}!`);
      if (given.startsWith("Basic")) expect(shown[3]).not.toContain(basic);
    }
  });

  it("[S86] has its value looked for in what the host answers", async () => {
    const heard: string[] = [];
    const noticing = new Credentials("s1", secrets, (secret, looked, host) => (piece) => {
      heard.push(`${secret} ${looked} ${host} ${piece}`);
    });
    const filled = await noticing.fill("api.example.com", {
      path: "/",
      fields: ["authorization", placeholder],
      isInspected: true,
    });
    if (filled.objection !== undefined) throw new Error(filled.objection);
    filled.look?.(Buffer.from("a body"));
    expect(heard).toEqual([`API_KEY ${value} api.example.com a body`]);
    const plain = await noticing.fill("api.example.com", { path: "/", fields: ["accept", "*/*"], isInspected: true });
    expect(plain).not.toHaveProperty("look");
  });

  it("leaves a request without one as it is, also where there are no secrets", async () => {
    const fields = ["authorization", "Bearer own"];
    expect(await fill(fields)).toMatchObject({ fields });
    const none = new Credentials("s1", undefined, unheard);
    expect(await none.fill("x.example", { path: "/", fields: ["a", placeholder], isInspected: false })).toMatchObject({
      fields: ["a", placeholder],
    });
  });
});
