/** All that happens to a message between a client and a hosted server, in order (S130). */
import { clientMethods, serverMethods } from "./route-stage.ts";
import { type Scanner, scanned } from "./scanner.ts";
import type { Stage } from "./stage.ts";
import { callableTools, listedTools, type ToolPolicy } from "./tool-policy.ts";

export interface Judges {
  policy: ToolPolicy;
  scanner: Scanner;
  /** Asks a human before a message is sent. None yet. */
  approve?: Stage;
}

/**
 * Before the first stage the HTTP door has authenticated the caller; after the last one the message is sent. Calls of tools are
 * recorded when they have ended, whatever the stages say (`call-recorder.ts`).
 */
export interface Pipeline {
  /** Requests, notifications and answers of clients. */
  toServer: readonly Stage[];
  /** The same of servers. */
  toClient: readonly Stage[];
}

export function openPipeline({ policy, scanner, approve }: Judges): Pipeline {
  return {
    toServer: [clientMethods, callableTools(policy), scanned(scanner), ...(approve === undefined ? [] : [approve])],
    toClient: [serverMethods, listedTools(policy), scanned(scanner)],
  };
}
