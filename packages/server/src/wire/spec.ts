import type { StreamSpec, TerminalSize, WarmInterpreter, WireConfiguration } from "../core/wire.ts";
import { writeU64 } from "./frame.ts";
import { wireLimits } from "./limits.ts";

export const tags = {
  argument: 1,
  environment: 2,
  folder: 3,
  timeoutMs: 4,
  cpuMs: 5,
  processes: 6,
  memoryBytes: 7,
  openFiles: 8,
  flags: 9,
  path: 10,
  target: 11,
  offset: 12,
  length: 13,
  mode: 14,
  leaseMs: 15,
  terminal: 16,
  count: 17,
  depth: 18,
  name: 19,
  text: 20,
  fileBytes: 21,
  lineBytes: 22,
  spot: 23,
} as const;

export const flags = {
  stdin: 1,
  parents: 2,
  recursive: 4,
  replace: 8,
  watchMemory: 16,
  ignoreCase: 128,
  binary: 256,
  paused: 512,
  exact: 1024,
  cold: 2048,
  gone: 4096,
  shell: 8192,
  whole: 16384,
} as const;
export const warmFlags: Record<WarmInterpreter, number> = { python: 32, node: 64 };

/** As a row and as RESIZE carry it. */
export function packSize(size: TerminalSize): number {
  return size.rows + size.columns * 65_536;
}

/** Where rows are put together; what comes out is a copy. */
let scratch = Buffer.alloc(wireLimits.toGuestFrameBytes);

class Rows {
  #size = 0;

  text(tag: number, value: string | undefined): void {
    if (value === undefined) return;
    const size = Buffer.byteLength(value) + 1;
    this.#head(tag, size);
    scratch.write(value, this.#size);
    scratch[this.#size + size - 1] = 0;
    this.#size += size;
  }

  number(tag: number, value: number | undefined): void {
    if (value === undefined) return;
    this.#head(tag, 8);
    writeU64(scratch, value, this.#size);
    this.#size += 8;
  }

  bytes(): Buffer {
    const bytes = Buffer.from(scratch.subarray(0, this.#size));
    if (scratch.length > wireLimits.toGuestFrameBytes) scratch = Buffer.alloc(wireLimits.toGuestFrameBytes);
    return bytes;
  }

  #head(tag: number, size: number): void {
    const room = this.#size + 8 + size;
    if (room > scratch.length) scratch = Buffer.concat([scratch.subarray(0, this.#size)], 2 * room);
    scratch.writeUInt32LE(tag, this.#size);
    scratch.writeUInt32LE(size, this.#size + 4);
    this.#size += 8;
  }
}

export function encodeSpec(spec: StreamSpec): Buffer {
  const rows = new Rows();
  for (const argument of spec.arguments ?? []) rows.text(tags.argument, argument);
  for (const [name, value] of Object.entries(spec.environment ?? {})) rows.text(tags.environment, `${name}=${value}`);
  rows.text(tags.folder, spec.folder);
  rows.text(tags.path, spec.path);
  rows.text(tags.target, spec.target);
  rows.text(tags.name, spec.name);
  rows.text(tags.text, spec.text);
  for (const name of ["timeoutMs", "cpuMs", "processes", "memoryBytes", "openFiles"] as const)
    rows.number(tags[name], spec[name]);
  for (const name of ["offset", "length", "mode", "count", "depth", "fileBytes", "lineBytes", "spot"] as const)
    rows.number(tags[name], spec[name]);
  if (spec.terminal !== undefined) rows.number(tags.terminal, packSize(spec.terminal));
  let bits = 0;
  for (const name of [
    "stdin",
    "parents",
    "recursive",
    "replace",
    "ignoreCase",
    "binary",
    "exact",
    "gone",
    "shell",
    "whole",
  ] as const)
    if (spec[name]) bits |= flags[name];
  if (spec.warm !== undefined) bits |= warmFlags[spec.warm];
  rows.number(tags.flags, bits);
  return rows.bytes();
}

export function encodeConfiguration(configuration: WireConfiguration): Buffer {
  const rows = new Rows();
  rows.text(tags.name, configuration.name);
  rows.number(tags.leaseMs, configuration.leaseMs);
  rows.number(tags.memoryBytes, configuration.memoryBytes);
  rows.number(tags.timeoutMs, configuration.warmIdleMs);
  for (const [name, value] of Object.entries(configuration.environment))
    rows.text(tags.environment, `${name}=${value}`);
  let bits = 0;
  for (const name of ["watchMemory", "paused", "cold"] as const) if (configuration[name]) bits |= flags[name];
  for (const interpreter of configuration.warm) bits |= warmFlags[interpreter];
  rows.number(tags.flags, bits);
  return rows.bytes();
}
