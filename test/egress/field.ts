import type { Socket } from "node:net";
import type { Approvals } from "../../packages/server/src/core/approval.ts";
import type { Downloads } from "../../packages/server/src/core/download.ts";
import type { AttemptEnd, EgressAttempt, EgressPolicy, LayeredPolicy } from "../../packages/server/src/core/egress.ts";
import type { HeaderSecrets } from "../../packages/server/src/core/secret.ts";
import { dial, resolveAddresses } from "../../packages/server/src/egress/dialer.ts";
import type { NameRedactor } from "../../packages/server/src/egress/firewall.ts";
import { Gate } from "../../packages/server/src/egress/gate.ts";
import type { Notice } from "../../packages/server/src/egress/inspection/credentials.ts";
import { UpstreamTrust } from "../../packages/server/src/egress/inspection/upstream-trust.ts";
import { dnsQuestion } from "./hosts.ts";
import { LoopbackTunnels } from "./tunnels.ts";

export interface FieldOptions {
  policy?: Partial<EgressPolicy>;
  dns?: string;
  /** Where a port of the world really is: hosts of tests have others than 80 and 443. */
  ports?: Readonly<Record<number, number>>;
  /** Where an address of the world really is: those of loopback need a rule of their own. */
  addresses?: Readonly<Record<string, string>>;
  approvals?: Approvals;
  namesPath?: string;
  /** Whom hosts' certificates are taken from besides this machine's. */
  caFile?: string;
  authorityPath?: string;
  secrets?: HeaderSecrets;
  downloads?: Downloads;
  notice?: Notice;
  redactor?: NameRedactor;
  /** When an attempt is written down; at once unless told. */
  written?: () => Promise<void>;
}

export interface LoggedAttempt extends EgressAttempt {
  end?: AttemptEnd;
}

/** One gate, its log, and a program's end of its tunnels. */
export async function field(options: FieldOptions) {
  const tunnels = new LoopbackTunnels();
  const watchers = new Set<() => void>();
  const attempts: LoggedAttempt[] = [];
  const errors: unknown[] = [];
  let policy = layered(options.policy);
  const { approvals } = options;
  const gate = await Gate.open({
    sandboxId: "s1",
    tunnels,
    namesPath: options.namesPath ?? null,
    authorityPath: options.authorityPath ?? null,
    redactor: options.redactor ?? { text: (text) => text, hostName: (name) => name },
    notice: options.notice ?? (() => () => undefined),
    trust: new UpstreamTrust(options.caFile === undefined ? [] : [options.caFile]),
    ...(options.secrets === undefined ? {} : { secrets: options.secrets }),
    ...(options.downloads === undefined ? {} : { downloads: options.downloads }),
    policies: {
      policyOf: () => policy,
      watch: (_id, changed) => {
        watchers.add(changed);
        return () => watchers.delete(changed);
      },
    },
    log: {
      attempted: async (attempt) => {
        attempts.push({ ...attempt });
        await options.written?.();
      },
      ended: (_id, id, end) => void Object.assign(attempts.find((attempt) => attempt.id === id) ?? {}, { end }),
    },
    ...(approvals === undefined ? {} : { asking: () => ({ approvals, namespace: "default" }) }),
    world: {
      resolve: async (name) => (await resolveAddresses(name, [options.dns ?? "127.0.0.1:1"])).addresses,
      dial: (address, port, signal) =>
        dial(options.addresses?.[address] ?? address, options.ports?.[port] ?? port, signal),
      isOwnAddress: () => false,
    },
    nowMs: () => Date.now(),
    onError: (error) => errors.push(error),
  });
  await tunnels.settled();
  return {
    gate,
    tunnels,
    attempts,
    errors,
    setPolicy(next: Partial<EgressPolicy>) {
      policy = layered(next);
      for (const changed of watchers) changed();
    },
    /** The address that a name has inside, or the code of the answer. */
    async lookup(name: string, type = 1): Promise<string | number> {
      const answer = await tunnels.send("127.64.0.1", 53, dnsQuestion(name, type));
      const code = answer.readUInt16BE(2) & 15;
      return code === 0 && answer.readUInt16BE(6) === 1 && type === 1 ? answer.subarray(-4).join(".") : code;
    },
    async [Symbol.asyncDispose]() {
      gate.close("the test is over");
      await tunnels[Symbol.asyncDispose]();
    },
  };
}

function layered(policy: Partial<EgressPolicy> = {}): LayeredPolicy {
  return [{ layer: "sandbox", policy: { allow: [], deny: [], ...policy } }];
}

/** All that comes until the other side ends, and whether it was broken off. */
export async function drain(socket: Socket): Promise<{ text: string; reset: boolean }> {
  let text = "";
  let broken = false;
  socket.setEncoding("latin1").on("data", (chunk) => {
    text += chunk;
  });
  socket.on("error", () => {
    broken = true;
  });
  if (!socket.readableEnded && !socket.destroyed)
    await Promise.race(["end", "close"].map((event) => new Promise((resolve) => socket.once(event, resolve))));
  return { text, reset: broken || (socket.destroyed && !socket.readableEnded) };
}

/** What is answered to these bytes; the connection is kept open for them to be, as programs do. */
export async function exchange(socket: Socket, bytes: string): Promise<{ text: string; reset: boolean }> {
  socket.write(bytes, "latin1");
  return drain(socket);
}
