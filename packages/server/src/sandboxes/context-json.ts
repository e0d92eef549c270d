import type { OutputChannel } from "../core/wire.ts";
import type { ContextState } from "./code-context.ts";

type Read = Record<OutputChannel, { bytes: number; rest: string }>;
export type ContextJson = Omit<ContextState, "kernel"> & {
  kernel: Omit<ContextState["kernel"], "mark" | "read"> & { mark: string; read: Read };
};

export function contextToJson({ kernel, ...context }: ContextState): ContextJson {
  const { mark, read, ...rest } = kernel;
  const text = ({ bytes, rest }: { bytes: number; rest: Buffer }) => ({ bytes, rest: rest.toString("base64") });
  const texts = { stdout: text(read.stdout), stderr: text(read.stderr) };
  return { ...context, kernel: { ...rest, mark: mark.toString("base64"), read: texts } };
}

export function contextFromJson({ kernel, ...context }: ContextJson): ContextState {
  const { mark, read, ...rest } = kernel;
  const bytes = ({ bytes, rest }: { bytes: number; rest: string }) => ({ bytes, rest: Buffer.from(rest, "base64") });
  const buffers = { stdout: bytes(read.stdout), stderr: bytes(read.stderr) };
  return { ...context, kernel: { ...rest, mark: Buffer.from(mark, "base64"), read: buffers } };
}
