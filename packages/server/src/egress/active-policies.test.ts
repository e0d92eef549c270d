import { describe, expect, it } from "vitest";
import { ActivePolicies, emptyNamespace, emptyPolicy } from "./active-policies.ts";
import { parseAllowRule, parseDenyRule } from "./check-rule.ts";
import { decide } from "./decide.ts";
import { loadPublicSuffixes } from "./public-suffix.ts";

await loadPublicSuffixes();

const allowing = (...texts: string[]) => ({ ...emptyPolicy, allow: texts.map(parseAllowRule) });
const at = (host: string) => ({ host, port: 443 });

describe("the policies in force", () => {
  it("[NET-01] let nothing out of a sandbox that is nobody's, and nothing at all where the network is off", () => {
    const configuration = allowing("api.example.com");
    const on = new ActivePolicies({ configuration });
    expect(on.policyOf("box")).toEqual([]);
    on.admit("box", "team");
    expect(decide(on.policyOf("box"), at("api.example.com")).action).toBe("allow");
    on.forget("box");
    expect(on.policyOf("box")).toEqual([]);
    const off = new ActivePolicies({ configuration, enabled: false });
    off.admit("box", "team", { sandbox: configuration });
    expect(decide(off.policyOf("box"), at("api.example.com")).action).toBe("deny");
    expect(() => off.open("box", "run", configuration)).toThrow("disabled");
  });

  it("stand in the order of their layers, and a namespace sees its own alone", () => {
    const policies = new ActivePolicies();
    policies.setNamespace("team", { ...emptyNamespace, ...allowing("a.example.com") });
    policies.admit("box", "team", { sandbox: allowing("b.example.com"), approval: allowing("c.example.com") });
    using _run = policies.open("box", "run", allowing("d.example.com"));
    const layers = policies.policyOf("box").map(({ layer }) => layer);
    expect(layers).toEqual(["configuration", "namespace", "sandbox", "run", "approval"]);
    for (const name of ["a", "b", "c", "d"])
      expect(decide(policies.policyOf("box"), at(`${name}.example.com`)).action, name).toBe("allow");
    policies.admit("other", "elsewhere");
    for (const name of ["a", "b", "c", "d"])
      expect(decide(policies.policyOf("other"), at(`${name}.example.com`)).action, name).toBe("deny");
  });

  it("[EXE-01] of a run end with it, and of two runs each with its own", () => {
    const policies = new ActivePolicies();
    policies.admit("box", "team");
    const asked = allowing("api.example.com");
    const first = policies.open("box", "run", asked);
    const second = policies.open("box", "run", asked);
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    expect(decide(policies.policyOf("box"), at("api.example.com")).action).toBe("allow");
    second[Symbol.dispose]();
    expect(decide(policies.policyOf("box"), at("api.example.com")).action).toBe("deny");
  });

  it("of an agent hold as far as the namespace leaves them to agents now", () => {
    const policies = new ActivePolicies();
    const permit = { ...parseAllowRule("*.example.com"), uploadAskBytes: 5 };
    const leave = (...rules: (typeof permit)[]) =>
      policies.setNamespace("team", { ...emptyNamespace, agentsMayAllow: rules });
    leave(permit);
    const opened = { ...allowing("api.example.com"), byAgent: true as const };
    policies.admit("box", "team", { sandbox: opened });
    policies.admit("operated", "team", { sandbox: allowing("api.example.com") });
    using _run = policies.open("box", "run", { ...allowing("run.example.com"), byAgent: true });
    const verdictOf = (id: string, host: string) => decide(policies.policyOf(id), at(host));
    expect(verdictOf("box", "api.example.com")).toMatchObject({ rule: { host: "api.example.com", uploadAskBytes: 5 } });
    expect(verdictOf("box", "run.example.com").action).toBe("allow");
    leave();
    expect(verdictOf("box", "api.example.com").action).toBe("deny");
    expect(verdictOf("box", "run.example.com").action).toBe("deny");
    expect(verdictOf("operated", "api.example.com").action).toBe("allow");
  });

  it("[S122] let a hosted server reach what its own policy opens, and nothing that others of the namespace may", () => {
    const policies = new ActivePolicies({ configuration: allowing("configured.example.com") });
    policies.setNamespace("team", {
      ...emptyNamespace,
      ...allowing("team.example.com"),
      unknown: "ask",
      deny: [parseDenyRule("denied.example.com")],
    });
    const own = { sandbox: allowing("own.example.com", "denied.example.com") };
    policies.admit("server", "team", own, { ofServer: true });
    policies.admit("box", "team", own);
    const hosts = ["own", "team", "configured", "other", "denied"].map((name) => `${name}.example.com`);
    const verdicts = (id: string) => hosts.map((host) => decide(policies.policyOf(id), at(host)).action);
    expect(verdicts("box")).toEqual(["allow", "allow", "allow", "ask", "deny"]);
    expect(verdicts("server")).toEqual(["allow", "deny", "deny", "deny", "deny"]);
  });

  it("[NET-10] are told to whoever watches a sandbox, at once, when something about it has changed", () => {
    const policies = new ActivePolicies({ configuration: { ...emptyPolicy, unknown: "deny" } });
    const seen: string[] = [];
    const stop = policies.watch("box", () => {
      seen.push(decide(policies.policyOf("box"), at("api.example.com")).action);
    });
    policies.watch("other", () => seen.push("another's"));
    policies.admit("box", "team"); // nothing was let out before, and nothing is
    expect(seen).toEqual([]);
    policies.admit("box", "team");
    policies.setNamespace("team", { ...emptyNamespace, ...allowing("api.example.com") });
    policies.setNamespace("elsewhere", emptyNamespace);
    policies.setSandbox("box", { sandbox: { ...emptyPolicy, deny: [parseDenyRule("*")] } });
    policies.setSandbox("box", { sandbox: emptyPolicy });
    expect(seen).toEqual(["deny", "allow", "deny", "allow"]);
    policies.open("box", "run", allowing("b.example.com"))[Symbol.dispose]();
    policies.forget("box");
    expect(seen.slice(4)).toEqual(["allow", "allow", "deny"]);
    policies.admit("box", "team");
    expect(seen.slice(7)).toEqual(["allow"]);
    stop();
    policies.admit("box", "team");
    expect(seen.length).toBe(8);
  });
});
