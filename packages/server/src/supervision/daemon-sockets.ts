/**
 * The listening sockets of the daemon. The supervisor binds them once and every daemon inherits them, so that no other
 * account can take the port of a daemon that has ended (S85). Meanwhile connections wait in the kernel's backlog.
 */
import { chmodSync, rmSync } from "node:fs";
import net, { isIPv6 } from "node:net";
import { getSystemErrorName } from "node:util";
import { AppError, messageOf } from "../core/errors.ts";
import type { Layout } from "./layout.ts";

/** The daemon's descriptors. native/helper/become.c closes those above the last. */
export const daemonDescriptors = { api: 3, local: 4, ports: 5, host: 6 } as const;

interface ListenAddress {
  host: string;
  port: number;
}

export interface DaemonSockets extends Disposable {
  api: number;
  /** A Unix socket that only the user of the supervisor can connect to. */
  local: number;
  /** For browsers; undefined where the port after the API's is taken. */
  ports: number | undefined;
}

interface SocketOptions {
  listen: ListenAddress;
  /** 0: the one after the API's, if it is free. */
  portsPort: number;
  layout: Layout;
  log: (text: string) => void;
}

export function bindDaemonSockets({ listen, portsPort, layout, log }: SocketOptions): DaemonSockets {
  using opened = new DisposableStack();
  const hold = (handle: BoundHandle) => opened.adopt(handle, () => handle.close()).fd;
  const api = hold(bindAddress(listen, "CAISSON_PORT"));
  const local = hold(bindPath(layout.apiSocket));
  const ports = bindPorts(listen, portsPort, log);
  if (ports !== undefined) hold(ports);
  const kept = opened.move();
  return { api, local, ports: ports?.fd, [Symbol.dispose]: () => kept.dispose() };
}

/** Without a port of its own the listener for browsers is left out when its port is taken: keys reach every port by its path. */
function bindPorts({ port }: ListenAddress, portsPort: number, log: SocketOptions["log"]): BoundHandle | undefined {
  const host = "127.0.0.1";
  if (portsPort !== 0) return bindAddress({ host, port: portsPort }, "CAISSON_PORTS_PORT");
  try {
    return bindAddress({ host, port: Math.min(port + 1, 65_535) }, "CAISSON_PORTS_PORT");
  } catch (error) {
    log(`${messageOf(error)}\n`);
    return undefined;
  }
}

/** A socket of libuv's that is bound and not listened on: the daemon listens, and accepts. */
interface BoundHandle {
  readonly fd: number;
  /** Fails with the error that binding met. */
  getsockname(out: object): number;
  close(): void;
}

type CreateHandle = (address: string, port: number, type: 4 | 6 | -1) => BoundHandle | number;

/** Node's own cluster module binds with it. A public Server would accept connections in this process. */
const { _createServerHandle: createHandle } = net as unknown as { _createServerHandle: CreateHandle };

function bindAddress(address: ListenAddress, variable: string): BoundHandle {
  const { host, port } = address;
  const handle = createHandle(host, port, isIPv6(host) ? 6 : 4);
  if (typeof handle === "number") throw explainBind(handle, address, variable);
  const failure = handle.getsockname({});
  if (failure === 0) return handle;
  handle.close();
  throw explainBind(failure, address, variable);
}

function explainBind(code: number, { host, port }: ListenAddress, variable: string): AppError {
  const name = getSystemErrorName(code);
  if (name === "EADDRINUSE")
    return new AppError("conflict", `port ${port} on ${host} is already in use`, {
      hint: `set ${variable} to another port`,
    });
  return new AppError("unavailable", `cannot listen on ${host}, port ${port}: ${name}`);
}

/** Nobody can connect before the daemon listens, which is after its mode is set. */
function bindPath(path: string): BoundHandle {
  rmSync(path, { force: true });
  const handle = createHandle(path, -1, -1);
  if (typeof handle === "number")
    throw new AppError("unavailable", `cannot create the socket ${path}: ${getSystemErrorName(handle)}`);
  chmodSync(path, 0o600);
  return handle;
}
