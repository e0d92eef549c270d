/** Settings of the access that agents have to this machine, outside sandboxes. */
export const hostSettings = {
  "host.enabled": {
    type: "boolean",
    default: false,
    env: "CAISSON_HOST_ENABLED",
    help: "allow agents to use this machine; if false, all host tools are refused",
  },
  "host.run_as": {
    type: "user",
    default: null,
    env: "CAISSON_HOST_RUN_AS",
    help: "user that runs host commands, never root; none: the daemon's user",
  },
  "host.allow": {
    type: "list",
    default: [],
    env: "CAISSON_HOST_ALLOW",
    help: "commands that agents may run on this machine, as patterns: docker ps, docker restart *",
  },
  "host.ask": {
    type: "list",
    default: [],
    env: "CAISSON_HOST_ASK",
    help: "commands that require approval each time, as patterns",
  },
  "host.blocked": {
    type: "list",
    default: [],
    env: "CAISSON_HOST_BLOCKED",
    help: "commands that are always refused, even if allowed or approved, as patterns",
  },
  "host.unknown": {
    type: "choice",
    choices: ["deny", "ask"],
    default: "deny",
    env: "CAISSON_HOST_UNKNOWN",
    help: "how to handle commands that match no pattern",
  },
  "host.read": {
    type: "list",
    default: [],
    env: "CAISSON_HOST_READ",
    help: "folders of this machine that agents may read",
  },
  "host.write": {
    type: "list",
    default: [],
    env: "CAISSON_HOST_WRITE",
    help: "folders of this machine that agents may read and write",
  },
  "host.namespaces": {
    type: "list",
    default: ["default"],
    env: "CAISSON_HOST_NAMESPACES",
    help: "namespaces whose keys may use this machine",
  },
} as const;
