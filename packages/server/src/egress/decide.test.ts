import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AllowRule, AllowVerdict, EgressLayer, EgressPolicy, LayeredPolicy } from "../core/egress.ts";
import { egressLayers } from "../core/egress.ts";
import { checkAllowRule, parseAllowRule, parseDenyRule } from "./check-rule.ts";
import { decide, decideAddress, decideName } from "./decide.ts";
import { loadPublicSuffixes } from "./public-suffix.ts";

await loadPublicSuffixes();

interface Words extends Pick<EgressPolicy, "unknown"> {
  allow?: (string | AllowRule)[];
  deny?: string[];
}

/** Policies by layer, their rules in text. */
function layered(words: Partial<Record<EgressLayer, Words>>): LayeredPolicy {
  return egressLayers.flatMap((layer) => {
    const { allow = [], deny = [], ...rest } = words[layer] ?? {};
    const rules = allow.map((rule) => (typeof rule === "string" ? parseAllowRule(rule) : rule));
    return words[layer] === undefined
      ? []
      : [{ layer, policy: { allow: rules, deny: deny.map((text) => parseDenyRule(text)), ...rest } }];
  });
}

const at = (text: string) => {
  const [, host = "", port = "443"] = /^(.*?)(?::(\d+))?$/.exec(text) ?? [];
  return { host, port: Number(port) };
};

describe("what may leave", () => {
  it("[NET-01] is nothing when there is no policy, and when no rule knows the name", () => {
    expect(decide([], at("api.example.com"))).toMatchObject({ action: "deny", layer: null, rule: null });
    const layers = layered({ namespace: { allow: ["api.example.com"] } });
    expect(decide(layers, at("other.example.com"))).toMatchObject({ action: "deny", reason: /no rule allows other/ });
  });

  const one = layered({ sandbox: { allow: ["api.example.com", "*.cdn.example.com", "db.example.com:5432"] } });
  it.each([
    ...["api.example.com", "API.EXAMPLE.COM.", "a.cdn.example.com", "a.b.cdn.example.com", "db.example.com:5432"],
  ])("[NET-02] is %s by a rule", (text) => {
    expect(decide(one, at(text))).toMatchObject({ action: "allow", layer: "sandbox" });
  });

  it.each([
    ...["example.com", "cdn.example.com", "xapi.example.com", "api.example.com.evil.example", "evilcdn.example.com"],
    ...["a.evilcdn.example.com", "api.example.com:80", "db.example.com", "x.api.example.com", "аpi.example.com", ""],
    ...["api.example.com\0.evil.example", "api.example.com ", "api.example.com..", "127.0.0.1", "[::1]", "localhost"],
  ])("[NET-02] is not %j", (text) => expect(decide(one, at(text))).toMatchObject({ action: "deny" }));

  it("says on which ports a name would be let out", () => {
    expect(decide(one, at("api.example.com:80"))).toMatchObject({ reason: /on port 80, only on 443$/ });
  });

  it("does not get past a deny of any layer, by an allow of any layer", () => {
    for (const denying of egressLayers)
      for (const allowing of egressLayers) {
        const words: Partial<Record<EgressLayer, Words>> = { [allowing]: { allow: ["api.example.com"] } };
        words[denying] = { ...words[denying], deny: ["*.example.com"] };
        const verdict = decide(layered(words), at("api.example.com"));
        expect(verdict).toMatchObject({ action: "deny", layer: denying, rule: { host: "*.example.com" } });
        expect(decideName(layered(words), "api.example.com")).toMatchObject({ action: "deny" });
      }
  });

  it("is denied on one port only where a rule says so", () => {
    const layers = layered({ namespace: { allow: ["a.example.com", "a.example.com:80"], deny: ["a.example.com:80"] } });
    expect(decide(layers, at("a.example.com:80"))).toMatchObject({ action: "deny" });
    expect(decide(layers, at("a.example.com"))).toMatchObject({ action: "allow" });
    expect(decideName(layers, "a.example.com")).toMatchObject({ action: "allow" });
  });

  it("[NET-09] is asked about where the last policy that says so says ask; addresses never", () => {
    const layers = layered({ namespace: { unknown: "deny" }, sandbox: { unknown: "ask" }, run: {} });
    expect(decide(layers, at("new.example.com"))).toEqual({ action: "ask" });
    expect(decideName(layers, "new.example.com")).toEqual({ action: "ask" });
    for (const host of ["203.0.113.7", "::1", "localhost", "a.localhost", "a..b"])
      expect(decide(layers, { host, port: 443 }), host).toMatchObject({ action: "deny" });
    const firm = layered({ namespace: { unknown: "ask" }, sandbox: { unknown: "deny" } });
    expect(decide(firm, at("new.example.com"))).toMatchObject({ action: "deny" });
  });

  it("is an address only where a rule names that address, in whatever notation", () => {
    const layers = layered({ sandbox: { allow: ["203.0.113.7"], deny: ["198.51.100.0/24"] } });
    for (const host of ["203.0.113.7", "0xcb007107", "3405803783", "::ffff:203.0.113.7"])
      expect(decide(layers, { host, port: 443 }), host).toMatchObject({ action: "allow" });
    expect(decide(layers, at("203.0.113.8"))).toMatchObject({ action: "deny", rule: null });
    expect(decide(layers, at("198.51.100.9"))).toMatchObject({ action: "deny", rule: { host: "198.51.100.0/24" } });
  });

  it("[NET-05] is resolved only if some port of it may be reached", () => {
    const layers = layered({ sandbox: { allow: ["api.example.com:8443"], deny: ["db.example.com"] } });
    expect(decideName(layers, "api.example.com")).toMatchObject({ action: "allow", rule: { port: 8443 } });
    expect(decideName(layers, "secret-data.evil.example")).toMatchObject({ action: "deny" });
    expect(decideName(layers, "db.example.com")).toMatchObject({ action: "deny" });
  });
});

describe("the rule that decides", () => {
  const host = "api.example.com";
  const inspected = checkAllowRule({ host: "*.example.com", inspect: true, methods: ["GET"] });

  it("is one with conditions before one without, whatever its layer", () => {
    for (const [strict, loose] of [["namespace", "run"] as const, ["sandbox", "namespace"] as const]) {
      const layers = layered({ [strict]: { allow: [inspected] }, [loose]: { allow: [host] } });
      expect(decide(layers, at(host))).toMatchObject({ layer: strict, rule: inspected, rules: [inspected] });
    }
  });

  it("is the earlier layer's, then the more exact one, then the one that checks more", () => {
    const wide = layered({ namespace: { allow: ["*.example.com"] }, run: { allow: [host] } });
    expect(decide(wide, at(host))).toMatchObject({ layer: "namespace", rule: { host: "*.example.com" } });
    const exact = layered({ sandbox: { allow: ["*.example.com", "*.api.example.com", host] } });
    expect(decide(exact, at(host))).toMatchObject({ rule: { host } });
    expect(decide(exact, at(`x.${host}`))).toMatchObject({ rule: { host: "*.api.example.com" } });
    const checked = layered({ sandbox: { allow: [`${host}/tcp`, host] } });
    expect(decide(checked, at(host))).toMatchObject({ rule: { protocol: "tls" }, rules: [{ protocol: "tls" }] });
  });

  it("[NET-08] comes with all rules of its layer that a request may fit", () => {
    const post = checkAllowRule({ host, inspect: true, methods: ["POST"], paths: ["/v1/*"] });
    const verdict = decide(layered({ sandbox: { allow: [inspected, post, host] } }), at(host));
    expect(verdict).toMatchObject({ rule: post, rules: [post, inspected] });
  });
});

describe("where a name may lead", () => {
  const name = "host.example.com";
  const verdictOf = (layers: LayeredPolicy) => decide(layers, at(name)) as AllowVerdict;
  const priv = [
    "10.0.0.5",
    "127.0.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "::1",
    "::ffff:10.0.0.5",
    "fd00::1",
    "0.0.0.0",
  ];

  it.each(priv)("[NET-06] is not %s, which is private", (address) => {
    const layers = layered({ sandbox: { allow: [name] } });
    expect(decideAddress(layers, verdictOf(layers), address)).toMatchObject({ action: "deny" });
  });

  it("[NET-06] is a public address, and a private one whose network a rule names for it", () => {
    const rule = checkAllowRule({ host: name, ranges: ["10.0.0.0/16", "fd00::/8"] });
    const layers = layered({ namespace: { allow: [name] }, sandbox: { allow: [rule] } });
    for (const address of ["1.1.1.1", "2606:4700::1111", "10.0.200.1", "::ffff:10.0.0.5", "fd00::1"])
      expect(decideAddress(layers, verdictOf(layers), address), address).toEqual({ action: "allow" });
    for (const address of ["10.1.0.1", "127.0.0.1", "not an address", name])
      expect(decideAddress(layers, verdictOf(layers), address), address).toMatchObject({ action: "deny" });
  });

  it("is an address that the rule itself names", () => {
    const layers = layered({ sandbox: { allow: ["127.0.0.1:8080"] } });
    const verdict = decide(layers, at("127.0.0.1:8080")) as AllowVerdict;
    expect(decideAddress(layers, verdict, "127.0.0.1")).toEqual({ action: "allow" });
    expect(decideAddress(layers, verdict, "127.0.0.2")).toMatchObject({ action: "deny" });
  });

  it("is no address and no network that a rule denies", () => {
    const layers = layered({ namespace: { deny: ["1.1.1.1", "8.8.8.0/24"] }, sandbox: { allow: [name] } });
    expect(decideAddress(layers, verdictOf(layers), "1.1.1.1")).toMatchObject({ action: "deny", layer: "namespace" });
    expect(decideAddress(layers, verdictOf(layers), "::ffff:8.8.8.8")).toMatchObject({ action: "deny" });
    expect(decideAddress(layers, verdictOf(layers), "1.1.1.2")).toEqual({ action: "allow" });
  });
});

describe("for any policy and any destination", () => {
  const name = fc
    .array(fc.constantFrom("a", "b", "com"), { minLength: 1, maxLength: 4 })
    .map((labels) => [...labels, "example"].join("."));
  const pattern = fc.tuple(fc.boolean(), name).map(([isWild, host]) => (isWild ? `*.${host}` : host));
  const port = fc.constantFrom(80, 443, 8443);
  const allow = fc.record({ host: pattern, port, protocol: fc.constantFrom("tls" as const, "tcp" as const) });
  const deny = fc.record({ host: fc.oneof(pattern, fc.constant("*")), port }, { requiredKeys: ["host"] });
  const policy = fc.record(
    { allow: fc.array(allow), deny: fc.array(deny, { maxLength: 2 }), unknown: fc.constantFrom("deny", "ask") },
    { requiredKeys: ["allow", "deny"] },
  );
  const layers = fc
    .uniqueArray(fc.constantFrom(...egressLayers))
    .chain((chosen) =>
      fc.tuple(...chosen.map((layer) => fc.record({ layer: fc.constant(layer), policy }))),
    ) as fc.Arbitrary<LayeredPolicy>;
  /** The meaning of a pattern, said another way: label by label from the end. */
  const means = (rule: string, host: string) => {
    const [labels, asked] = [rule.split(".").reverse(), host.split(".").reverse()];
    if (labels.at(-1) !== "*") return rule === host;
    const fixed = labels.slice(0, -1);
    return asked.length > fixed.length && fixed.every((label, index) => asked[index] === label);
  };

  it("the verdict is what the rules mean", () => {
    fc.assert(
      fc.property(layers, name, port, (all, host, asked) => {
        const policies = all.map((each) => each.policy);
        const isDenied = policies.some((each) =>
          each.deny.some((rule) => means(rule.host, host) && (rule.port ?? asked) === asked),
        );
        const isAllowed = policies.some((each) =>
          each.allow.some((rule) => means(rule.host, host) && rule.port === asked),
        );
        const unknown = policies.findLast((each) => each.unknown !== undefined)?.unknown ?? "deny";
        const verdict = decide(all, { host, port: asked });
        expect(verdict.action).toBe(isDenied ? "deny" : isAllowed ? "allow" : unknown);
        if (verdict.action === "allow") {
          const layer = all.find((each) => each.layer === verdict.layer);
          expect(layer?.policy.allow).toContain(verdict.rule);
          expect(verdict.rules[0]).toBe(verdict.rule);
          expect(decideName(all, host).action).toBe("allow");
        }
        if (verdict.action === "ask") expect(decideName(all, host).action).not.toBe("deny");
      }),
      { numRuns: 5_000 },
    );
  });

  it("one more deny never lets anything out, and one more allow never overrules a deny", () => {
    fc.assert(
      fc.property(layers, deny, allow, name, port, (all, denied, allowed, host, asked) => {
        const before = decide(all, { host, port: asked }).action;
        const empty = { allow: [], deny: [] };
        const stricter = [...all, { layer: "run" as const, policy: { ...empty, deny: [denied] } }];
        if (before === "deny") expect(decide(stricter, { host, port: asked }).action).toBe("deny");
        const verdict = decide(all, { host, port: asked });
        const looser = [...all, { layer: "run" as const, policy: { ...empty, allow: [allowed] } }];
        if (verdict.action === "deny" && verdict.rule !== null)
          expect(decide(looser, { host, port: asked })).toEqual(verdict);
      }),
      { numRuns: 2_000 },
    );
  });
});
