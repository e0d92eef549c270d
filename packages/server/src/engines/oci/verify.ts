import { readFileSync, readlinkSync } from "node:fs";
import { type Containment, containments, type EngineName, type NotEnforced } from "../../core/engine.ts";

export interface Started {
  engine: EngineName;
  pid: number;
  /** Whose root is the sandbox's: the gofer under gVisor, init in a container. */
  rootPid: number;
  base: number;
  /** How many ids from `base` on are its own. */
  ids: number;
}

/** CAP_KILL, CAP_SETGID, CAP_SETUID, CAP_SETPCAP. */
const guestCapabilityMask = (1n << 5n) | (1n << 6n) | (1n << 7n) | (1n << 8n) | (1n << 10n) | (1n << 12n);

/** What the kernel says of the started sandbox: for each kind why it does not hold, or null (SBX-14). */
export function verifyStarted(started: Started): Map<Containment, string | null> {
  const outcome = new Map<Containment, string | null>();
  const check = (what: Containment, holds: boolean, why: string) => outcome.set(what, holds ? null : why);
  const status = readFileSync(`/proc/${started.pid}/status`, "utf8");
  const map = readFileSync(`/proc/${started.pid}/uid_map`, "utf8").trim();
  check("user_namespace", isInRange(map, status, started), `its uid map is ${map.replaceAll(/\s+/g, " ")}`);
  check(
    "network_namespace",
    readlinkSync(`/proc/${started.pid}/ns/net`) !== readlinkSync("/proc/self/ns/net"),
    "it shares the network of the host",
  );
  check("read_only_root", rootIsReadOnly(started.rootPid), "its root is mounted read-write");
  if (started.engine === "container") {
    const bounding = BigInt(`0x${/^CapBnd:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? "ffffffffffffffff"}`);
    check("no_capabilities", (bounding & ~guestCapabilityMask) === 0n, `its bounding set is ${bounding.toString(16)}`);
    check("no_new_privileges", /^NoNewPrivs:\s*1/m.test(status), "no_new_privs is not set");
  } else {
    // Kept by gVisor's own kernel; the guest checks both before it starts user code.
    outcome.set("no_capabilities", null);
    outcome.set("no_new_privileges", null);
  }
  // The guest refuses to start a program without its filter.
  outcome.set("seccomp", null);
  return outcome;
}

/** Its ids, and all that it could take, are host ids of its own range. gVisor's sentry narrows its map to one id. */
function isInRange(map: string, status: string, { base, ids: count }: Started): boolean {
  const end = base + count;
  const lines = map.split("\n").map((line) => line.trim().split(/\s+/).map(Number));
  const ids = /^Uid:\s*(.*)$/m.exec(status)?.[1]?.split(/\s+/).map(Number) ?? [];
  const mapsInside = lines.every(([, first = 0, count = 0]) => first >= base && first + count <= end);
  return mapsInside && ids.length > 0 && ids.every((id) => id >= base && id < end);
}

function rootIsReadOnly(pid: number): boolean {
  const mounts = readFileSync(`/proc/${pid}/mountinfo`, "utf8").split("\n");
  const root = mounts.map((line) => line.split(" ")).find((fields) => fields[4] === "/");
  return root?.[5]?.split(",").includes("ro") ?? false;
}

export function summarise(outcomes: ReadonlyMap<Containment, string | null>): {
  enforced: Containment[];
  notEnforced: NotEnforced[];
} {
  const enforced: Containment[] = [];
  const notEnforced: NotEnforced[] = [];
  for (const what of containments) {
    const why = outcomes.get(what);
    if (why === null) enforced.push(what);
    else notEnforced.push({ what, why: why ?? "it was not applied" });
  }
  return { enforced, notEnforced };
}
