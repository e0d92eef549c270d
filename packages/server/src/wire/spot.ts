import { isIPv4 } from "node:net";
import { AppError } from "../core/errors.ts";
import { WireViolation } from "./frame.ts";

export interface Spot {
  address: string;
  port: number;
}

/** A port and an IPv4 address in one number, as the wire carries them. */
export function packSpot({ address, port }: Spot): number {
  if (!isIPv4(address) || !isPort(port))
    throw new AppError("invalid", `${address}:${port} is no IPv4 address and port`);
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0) * 65_536 + port;
}

export function isPort(port: number): boolean {
  return Number.isInteger(port) && port > 0 && port < 65_536;
}

export function unpackSpot(spot: number): Spot {
  if (spot >= 2 ** 48) throw new WireViolation("a connection to no IPv4 address");
  const address = Math.floor(spot / 65_536);
  return { address: showAddress(address), port: spot % 65_536 };
}

export function showAddress(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff).join(".");
}

export function parseAddress(address: string): number {
  return Math.floor(packSpot({ address, port: 1 }) / 65_536);
}
