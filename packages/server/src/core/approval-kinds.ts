import { type ApprovalScope, approvalScopes } from "./approval.ts";

interface KindRow {
  /** Starts the question that a human reads; the subject follows. */
  asks: string;
  /** Shows the subject in the log and in events: it is a name. False where it can be content: a command, a path. */
  nameable: boolean;
  /** Scopes that an answer can have if the question concerns no sandbox. A sandbox's question takes every scope. */
  scopes: readonly [ApprovalScope, ...ApprovalScope[]];
  /** Prefix of the events that are recorded beside `approval.*`, for clients that follow one subject. */
  events?: "egress";
  /** Detail that names the key whose attempt asks, where no sandbox does. */
  asker?: string;
}

/** Kinds of questions to humans. A new kind is one row here, and an effect where its answers outlive the attempt. */
const rows = {
  egress: {
    asks: "Code in a sandbox wants to connect to",
    nameable: true,
    scopes: ["always"],
    events: "egress",
  },
  upload: {
    asks: "Code in a sandbox wants to send data to",
    nameable: true,
    scopes: ["always"],
    events: "egress",
  },
  command: {
    asks: "This is to be run in a sandbox:",
    nameable: false,
    scopes: ["always"],
  },
  host: {
    asks: "This is to be done on the machine itself:",
    nameable: false,
    scopes: ["once", "always"],
    asker: "asked_by",
  },
} as const satisfies Record<string, KindRow>;

export type ApprovalKind = keyof typeof rows;
export const approvalKinds: Readonly<Record<ApprovalKind, KindRow>> = rows;

/** Names of all kinds, for schemas. */
export const approvalKindNames = Object.keys(rows) as ApprovalKind[];

/** Scopes that an answer to this question can have. */
export function scopesFor(kind: ApprovalKind, sandboxId: string | null): readonly ApprovalScope[] {
  return sandboxId === null ? approvalKinds[kind].scopes : approvalScopes;
}
