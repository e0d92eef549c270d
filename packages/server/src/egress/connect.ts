/** From an allowed destination to a connected socket: resolve, judge every address, dial one that was judged (S46). */
import { isIP } from "node:net";
import type { AllowVerdict, Destination, LayeredPolicy } from "../core/egress.ts";
import { AppError, errnoOf, messageOf } from "../core/errors.ts";
import { decideAddress } from "./decide.ts";
import { gateLimits } from "./gate-limits.ts";
import { isWithin } from "./network.ts";
import type { OutboundSocket } from "./outbound-socket.ts";
import { readHost } from "./read-host.ts";

/** The world, as far as this process may touch it. */
export interface World {
  resolve(name: string): Promise<string[]>;
  dial(address: string, port: number, signal: AbortSignal): Promise<OutboundSocket>;
  isOwnAddress(address: string): boolean;
}

export type ConnectResult =
  | { state: "reached"; socket: OutboundSocket; address: string }
  | { state: "denied" | "failed"; reason: string; address: string | null };

/** Why this address may not be dialled under this verdict; undefined when it may. */
export function judgeAddress(
  world: Pick<World, "isOwnAddress">,
  layers: LayeredPolicy,
  verdict: AllowVerdict,
  address: string,
): string | undefined {
  const judged = decideAddress(layers, verdict, address);
  if (judged.action === "deny") return judged.reason;
  // IPv4 in IPv6 clothes is compared as IPv4.
  const read = readHost(address);
  const host = "host" in read ? read.host : address;
  const isNamed = verdict.rule.host === host || isWithin(host, verdict.ranges);
  if (!isNamed && world.isOwnAddress(host))
    return `it leads to ${host}, which is this machine, and no rule names that network`;
  return undefined;
}

export async function connect(
  world: World,
  layers: LayeredPolicy,
  verdict: AllowVerdict,
  { host, port }: Destination,
  signal: AbortSignal,
): Promise<ConnectResult> {
  let addresses: string[];
  try {
    addresses = isIP(host) === 0 ? await world.resolve(host) : [host];
  } catch (error) {
    return { state: "failed", reason: messageOf(error), address: null };
  }
  const judged = addresses.map((address) => ({ address, objection: judgeAddress(world, layers, verdict, address) }));
  const good = judged.flatMap(({ address, objection }) => (objection === undefined ? [address] : []));
  if (good.length === 0) {
    const [first] = judged;
    return {
      state: "denied",
      reason: first?.objection ?? "it resolves to no address",
      address: first?.address ?? null,
    };
  }
  return dialOne(world, good, port, AbortSignal.any([signal, AbortSignal.timeout(gateLimits.connectAllMs)]));
}

/** One after the other: which comes first is the name server's choice. */
async function dialOne(
  world: World,
  addresses: readonly string[],
  port: number,
  signal: AbortSignal,
): Promise<ConnectResult> {
  let reason = "it was not tried";
  for (const address of addresses) {
    if (signal.aborted) break;
    try {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(gateLimits.connectMs)]);
      return { state: "reached", socket: await world.dial(address, port, limited), address };
    } catch (error) {
      reason = error instanceof AppError ? error.message : (errnoOf(error) ?? messageOf(error));
    }
  }
  return { state: "failed", reason: `cannot connect: ${reason}`, address: addresses[0] ?? null };
}
