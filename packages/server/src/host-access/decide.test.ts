import { describe, expect, it } from "vitest";
import { decideHost, readPolicy } from "./decide.ts";

const policy = readPolicy({
  allow: ["docker ps", "docker restart *", "/usr/bin/id"],
  ask: ["docker restart db*", "systemctl restart *"],
  blocked: ["docker restart secret*", "rm **"],
  unknown: "deny",
});

describe("a command on the host", () => {
  it.each([
    [["docker", "ps"], "allow", "docker ps"],
    [["docker", "restart", "web"], "allow", "docker restart *"],
    [["docker", "restart", "db1"], "ask", "docker restart db*"],
    [["systemctl", "restart", "nginx"], "ask", "systemctl restart *"],
    [["docker", "restart", "secret1"], "deny", "docker restart secret*"],
    [["rm", "-rf", "/"], "deny", "rm **"],
    [["/bin/rm", "x"], "deny", "rm **"],
    [["docker", "rm", "web"], "deny", undefined],
    [["id"], "deny", undefined],
  ])("[HST-01] %j: %s by %s", (argv, verdict, rule) => {
    const decision = decideHost(policy, argv as string[]);
    expect([decision.verdict, decision.rule?.text]).toEqual([verdict, rule]);
  });

  it("[HST-01] is blocked under every name of its program", () => {
    const open = readPolicy({ allow: ["erase *"], ask: [], blocked: ["rm **"], unknown: "deny" });
    expect(decideHost(open, ["erase", "x"]).verdict).toBe("allow");
    expect(decideHost(open, ["erase", "x"], ["/usr/bin/rm", "rm"]).verdict).toBe("deny");
  });

  it("[HST-01] that no pattern knows is asked about where the operator says so", () => {
    const asking = readPolicy({ allow: [], ask: [], blocked: ["rm **"], unknown: "ask" });
    expect(decideHost(asking, ["id"]).verdict).toBe("ask");
    expect(decideHost(asking, ["rm"]).verdict).toBe("deny");
  });
});
