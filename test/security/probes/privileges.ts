import type { Probe } from "../probe.ts";
import { type HostTwin, type ProgramProbe, programProbe } from "../program-probe.ts";

const asRoot: HostTwin = { where: "on the host as root" };
const asUser: HostTwin = {
  where: "on the host as an ordinary user",
  wrap: ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"],
};
const probe = (rest: Omit<ProgramProbe, "section">): Probe =>
  programProbe({ section: "Host kernel and runtime", ...rest });

export const privileges: readonly Probe[] = [
  probe({
    claim: "hold a capability, another id or a free hand with system calls",
    words: ["privileges"],
    twin: asRoot,
  }),
  probe({
    claim: "become root",
    words: ["become-root"],
    twin: { where: "on the host with a real id of 0", wrap: ["setpriv", "--euid=1000"] },
  }),
  probe({
    claim: "gain an id by set-uid programs",
    words: ["run-set-uid", "/usr/bin/su", "/usr/bin/passwd", "/usr/bin/mount"],
    twin: asUser,
  }),
  probe({ claim: "gain capabilities by a file that grants them", words: ["grant-by-file"], twin: asRoot }),
  probe({ claim: "type into a terminal", words: ["type-into-terminal"], twin: asRoot }),
  probe({ claim: "open a packet socket", words: ["sockets", "packet"], twin: asRoot }),
  probe({ claim: "open a raw socket", words: ["sockets", "raw"], twin: asRoot }),
  probe({
    claim: "open a packet socket after unsharing a user namespace",
    words: ["in-user-namespace", "sockets", "packet"],
    twin: asUser,
  }),
  probe({
    claim: "open a raw socket after unsharing a user namespace",
    words: ["in-user-namespace", "sockets", "raw"],
    twin: asUser,
  }),
  probe({ claim: "open a vsock socket", words: ["sockets", "vsock"], twin: asRoot }),
  probe({ claim: "speak netlink beyond routes", words: ["netlink-sockets"], twin: asRoot }),
  probe({ claim: "open sockets of odd families or types", words: ["other-sockets"], twin: asRoot }),
  probe({ claim: "reach an abstract Unix socket of the host", words: ["read-abstract", "{mark}"], twin: asUser }),
  probe({ claim: "reach a loopback port of the host", words: ["read-port", "{port}"], twin: asUser }),
];
