import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../packages/server/src/core/errors.ts";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import type { ServerContact, ServerEra, ServerRecord } from "../../packages/server/src/core/server.ts";
import type { LinkCarrier, LinkFor, Mask, ServerLink, ServerPool } from "../../packages/server/src/core/server-link.ts";

/** Starts something that answers as a hosted server. */
export type Start = () => Promise<{ carrier: LinkCarrier; stop: () => void; died?: Promise<unknown> }>;

export interface HostedTest {
  id: string;
  namespace: string;
  contact: ServerContact;
  start: Start;
}

interface Instance {
  incarnation: string;
  carrier: LinkCarrier;
  ended: AbortController;
  leases: number;
  stop: () => void;
}

let last = 0;

export function hosted(era: ServerEra, transport: "stdio" | "http", start: Start, namespace = "default"): HostedTest {
  const protocolVersion = era === "legacy" ? "2025-11-25" : "2026-07-28";
  const id = (++last).toString(16).padStart(16, "0");
  return { id, namespace, contact: { transport, era, protocolVersion, path: "/mcp", tools: 1 }, start };
}

const unmasked: Mask = (value) => value;

/** Hosted servers that are processes of the test, without sandboxes. */
export class TestPool implements ServerPool, Disposable {
  readonly #servers = new Map<string, HostedTest>();
  readonly #instances = new Map<string, Promise<Instance>>();
  #version = 1;
  starts = 0;
  /** Callers' keys and capability sets that asked for a link. */
  readonly asked: LinkFor[] = [];

  constructor(servers: readonly HostedTest[]) {
    for (const server of servers) this.#servers.set(server.id, server);
  }

  find({ principal }: Caller, id: string): ServerRecord | undefined {
    const server = this.#servers.get(id);
    return server?.namespace === principal.namespace ? recordOf(server) : undefined;
  }

  contactOf(id: string): ServerContact | undefined {
    return this.#servers.get(id)?.contact;
  }

  async connect(caller: Caller, id: string, who: LinkFor, _signal: AbortSignal): Promise<ServerLink> {
    const server = this.#servers.get(id);
    if (server === undefined || this.find(caller, id) === undefined) throw new AppError("not_found", "no such server");
    this.asked.push(who);
    const key = server.contact.transport === "http" ? id : JSON.stringify([id, who]);
    const starting = this.#instances.get(key) ?? this.#start(server, key);
    this.#instances.set(key, starting);
    const instance = await starting;
    instance.leases += 1;
    let isHeld = true;
    const { incarnation, carrier, ended } = instance;
    return {
      ...{ incarnation, carrier, mask: unmasked, version: this.#version, contact: server.contact, ended: ended.signal },
      release: () => {
        if (isHeld) instance.leases -= 1;
        isHeld = false;
      },
    };
  }

  async leases(): Promise<number> {
    const all = await Promise.all(this.#instances.values());
    return all.reduce((sum, { leases }) => sum + leases, 0);
  }

  /** Stops what runs, as an idle stop does. */
  async stopAll(reason = "the server was stopped"): Promise<void> {
    const all = await Promise.all(this.#instances.values());
    this.#instances.clear();
    for (const { stop, ended } of all) {
      stop();
      ended.abort(new AppError("unavailable", reason));
    }
  }

  /** Another version takes over. */
  async redeploy(id: string, changes: Partial<HostedTest>): Promise<void> {
    const server = this.#servers.get(id) as HostedTest;
    this.#servers.set(id, { ...server, ...changes });
    this.#version += 1;
    await this.stopAll("the server was redeployed");
  }

  [Symbol.dispose](): void {
    void this.stopAll();
  }

  async #start(server: HostedTest, key: string): Promise<Instance> {
    this.starts += 1;
    const { carrier, stop, died } = await server.start();
    const instance = { incarnation: `i${this.starts}`, carrier, stop, ended: new AbortController(), leases: 0 };
    void died?.then(() => {
      this.#instances.delete(key);
      instance.ended.abort(new AppError("unavailable", "the server has crashed"));
    });
    return instance;
  }
}

function recordOf({ id, namespace }: HostedTest): ServerRecord {
  return { id, namespace, name: `s-${id}`, current: 1, newest: 1, createdAtMs: 0, createdBy: "test" } as ServerRecord;
}

export function stdioProgram(...argv: string[]): Start {
  return async () => {
    const child = spawn(process.execPath, argv, { stdio: ["pipe", "pipe", "ignore"] });
    child.stdin.on("error", () => undefined);
    const carrier = { kind: "stdio", input: child.stdin, output: child.stdout } as const;
    return { carrier, stop: () => void child.kill("SIGKILL"), died: once(child, "exit") };
  };
}

/** A program that prints its port, in a line that holds nothing else but words. */
export function httpProgram(...argv: string[]): Start {
  return async () => {
    const child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "ignore"] });
    const port = await printedPort(child);
    const dial = async () => {
      const socket = connect(port, "127.0.0.1");
      await once(socket, "connect");
      return socket;
    };
    const carrier = { kind: "http", dial, host: `127.0.0.1:${port}` } as const;
    return { carrier, stop: () => void child.kill("SIGKILL"), died: once(child, "exit") };
  };
}

/** A program that takes its port from the variable PORT. */
export function httpProgramWithPort(...argv: string[]): Start {
  return async () => {
    const port = await freePort();
    const env = { ...process.env, PORT: String(port) };
    const child = spawn(process.execPath, argv, { stdio: "ignore", env });
    const dial = async () => {
      const socket = connect(port, "127.0.0.1");
      await once(socket, "connect");
      return socket;
    };
    for (let tries = 0; tries < 500; tries++) {
      const first = await dial().catch(() => sleep(20));
      first?.destroy();
      if (first !== undefined) break;
    }
    const carrier = { kind: "http", dial, host: `127.0.0.1:${port}` } as const;
    return { carrier, stop: () => void child.kill("SIGKILL"), died: once(child, "exit") };
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function printedPort({ stdout }: ChildProcess): Promise<number> {
  let text = "";
  for await (const part of stdout ?? []) {
    text += part;
    const found = /\b(\d{4,5})\b/.exec(text);
    if (found !== null) return Number(found[1]);
  }
  throw new Error(`no port: ${text}`);
}
