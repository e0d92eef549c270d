import { describe, expect, it } from "vitest";
import { makeBundle } from "./bundle.ts";

const MiB = 1024 ** 2;
const limits = { memoryBytes: 128 * MiB, cpus: 1, cpuShares: 1024, processes: 64, storageBytes: 64 * MiB };
const make = (hasInput = false) =>
  makeBundle({
    id: "abcdefghijklmnop",
    engine: "container",
    spec: { limits },
    hasInput,
    hasDevices: true,
    guestArgs: [],
  });
const mount = (bundle: ReturnType<typeof make>, path: string) =>
  bundle.mounts.find(({ destination }) => destination === path);

describe("a bundle", () => {
  it("names no user namespace and no cgroup limit: the runtime is started inside them", () => {
    const bundle = make();
    expect(bundle.linux.namespaces.map(({ type }) => type)).toEqual([
      "pid",
      "ipc",
      "uts",
      "mount",
      "network",
      "cgroup",
    ]);
    expect(bundle.linux).not.toHaveProperty("resources");
    expect(bundle.linux).not.toHaveProperty("cgroupsPath");
  });

  it("gives the guest six capabilities, none of them inheritable, and an empty environment", () => {
    const { capabilities, env, noNewPrivileges } = make().process;
    expect([...capabilities.bounding].sort()).toEqual([
      "CAP_KILL",
      "CAP_NET_ADMIN",
      "CAP_NET_BIND_SERVICE",
      "CAP_SETGID",
      "CAP_SETPCAP",
      "CAP_SETUID",
    ]);
    expect([capabilities.inheritable, capabilities.ambient, env, noNewPrivileges]).toEqual([[], [], [], true]);
  });

  it("has a read-only root and no mount of a host folder but the volume's", () => {
    const bundle = make(true);
    expect(bundle.root.readonly).toBe(true);
    const binds = bundle.mounts.filter(({ type }) => type === "bind").map(({ source }) => source);
    expect(binds).toEqual([
      "/run/caisson/dev",
      "/run/caisson/vol/ws",
      "/run/caisson/vol/home",
      "/run/caisson/vol/input",
    ]);
  });

  it("makes every mount nosuid, and the input read-only", () => {
    const bundle = make(true);
    for (const { destination, options } of bundle.mounts) expect(options, destination).toContain("nosuid");
    expect(mount(bundle, "/workspace/input")?.options).toContain("ro");
  });

  it("has no input mount when no folder was given", () => {
    expect(mount(make(), "/workspace/input")).toBeUndefined();
  });

  it("bounds /tmp by half of the memory limit", () => {
    expect(mount(make(), "/tmp")?.options).toContain(`size=${64 * 1024}k`);
  });
});
