import type { Message } from "./message.ts";
import type { CallContext, Stage, Verdict } from "./stage.ts";
import { pass } from "./stage.ts";

/** Looks through the content of messages in both directions. */
export interface Scanner {
  scan(message: Message, context: CallContext): Verdict | Promise<Verdict>;
}

export const noScanner: Scanner = { scan: () => pass };

export function scanned(scanner: Scanner): Stage {
  return (message, context) => scanner.scan(message, context);
}
