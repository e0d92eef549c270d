import { describe, expect, it } from "vitest";
import { decide } from "./decide.ts";
import { openPolicies, readRules } from "./open-policies.ts";

describe("configured policies", () => {
  it("hold for every sandbox, and their mistakes name the settings", async () => {
    const policies = await openPolicies({ allow: ["*.example.com"], deny: ["bad.example.com"], unknown: "ask" });
    policies.admit("box", "anybody");
    const actionOf = (host: string) => decide(policies.policyOf("box"), { host, port: 443 }).action;
    expect(["a.example.com", "bad.example.com", "a.example.org"].map(actionOf)).toEqual(["allow", "deny", "ask"]);
    await expect(openPolicies({ allow: ["*.com"] })).rejects.toMatchObject({
      code: "invalid",
      message: "allowed_domains, network.deny: '*.com' would allow names of many owners",
    });
    await expect(readRules(["*.co.uk"])).rejects.toMatchObject({ code: "invalid" });
  });
});
