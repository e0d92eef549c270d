import { AppError } from "../core/errors.ts";
import { readHost } from "./read-host.ts";

/** In the form that destinations are compared in, so that the attempt finds the answer. */
export function requireHost(text: string): string {
  const read = readHost(text);
  if (read.kind !== "invalid") return read.host;
  throw new AppError("invalid", "not a host name", { hint: `${read.problem}; write a name such as api.example.com` });
}
