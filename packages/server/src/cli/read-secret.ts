import { AppError } from "../core/errors.ts";
import { secretLimits } from "../vault/limits.ts";
import type { RunIo } from "./run.ts";

const newline = 0x0a;
const enter = 0x0d;
const interrupt = 0x03;
const endOfInput = 0x04;
const erase = [0x08, 0x7f];

/** Reads a secret's value: typed without being shown, or all of standard input without one last line break. */
export async function readSecret(io: RunIo, name: string): Promise<Buffer> {
  return io.stdin.isTTY ? readTyped(io, name) : readPiped(io.stdin);
}

async function readPiped(stdin: NodeJS.ReadStream): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of stdin as AsyncIterable<Buffer>) {
    pieces.push(piece);
    bytes += piece.length;
    checkRoom(bytes);
  }
  const all = Buffer.concat(pieces);
  for (const piece of pieces) piece.fill(0);
  return all.at(-1) === newline ? all.subarray(0, -1) : all;
}

async function readTyped({ stdin, stderr }: RunIo, name: string): Promise<Buffer> {
  stdin.setRawMode(true); // before the prompt: early input must not be shown either
  stderr.write(`Value of ${name} (not shown): `);
  const typed: number[] = [];
  try {
    for await (const piece of stdin.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>)
      for (const byte of piece) {
        if (byte === interrupt) throw new AppError("invalid", "cancelled: no secret was stored");
        if (byte === enter || byte === newline || byte === endOfInput) return Buffer.from(typed);
        if (erase.includes(byte)) eraseCharacter(typed);
        else typed.push(byte);
        checkRoom(typed.length);
      }
    return Buffer.from(typed);
  } finally {
    typed.fill(0);
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write("\n");
  }
}

/** Removes one UTF-8 character, of one or more bytes. */
function eraseCharacter(typed: number[]): void {
  while (typed.length > 0 && ((typed.pop() ?? 0) & 0xc0) === 0x80);
}

function checkRoom(bytes: number): void {
  const { max } = secretLimits.valueBytes;
  if (bytes > max + 1) throw new AppError("too_large", `secret value is too large (limit: ${max} bytes)`);
}
