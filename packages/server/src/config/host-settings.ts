/** Settings of what agents may do on the machine around the sandboxes. */
export const hostSettings = {
  "host.enabled": {
    type: "boolean",
    default: false,
    env: "CAISSON_HOST_ENABLED",
    help: "whether agents may use this machine at all; without it every host tool refuses",
  },
  "host.run_as": {
    type: "user",
    default: null,
    env: "CAISSON_HOST_RUN_AS",
    help: "the user as whom a daemon does so; its own unless set, never root",
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
    help: "commands that take a human's approval each time, likewise",
  },
  "host.blocked": {
    type: "list",
    default: [],
    env: "CAISSON_HOST_BLOCKED",
    help: "commands that are refused whoever allows or approves them, likewise",
  },
  "host.unknown": {
    type: "choice",
    choices: ["deny", "ask"],
    default: "deny",
    env: "CAISSON_HOST_UNKNOWN",
    help: "what becomes of a command that no pattern matches",
  },
  "host.read": {
    type: "list",
    default: [],
    env: "CAISSON_HOST_READ",
    help: "folders of this machine whose files agents may read",
  },
  "host.write": {
    type: "list",
    default: [],
    env: "CAISSON_HOST_WRITE",
    help: "folders of this machine whose files agents may read and write",
  },
  "host.namespaces": {
    type: "list",
    default: ["default"],
    env: "CAISSON_HOST_NAMESPACES",
    help: "tenants whose keys may use this machine",
  },
} as const;
