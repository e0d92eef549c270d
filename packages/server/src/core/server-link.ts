/** The only thing that the gateway knows of where a hosted server runs. */
import type { Duplex, Readable, Writable } from "node:stream";
import type { Caller } from "./principal.ts";
import type { ServerContact, ServerRecord } from "./server.ts";

/** Caller that a connection belongs to. Servers over HTTP share one instance; one over stdio has an instance for each of these. */
export interface LinkFor {
  /** Id of the caller's key or person. */
  principal: string;
  /** Digest of the capabilities that the client declares: servers answer differently by them. */
  capabilities: string;
}

/** How messages reach an instance. */
export type LinkCarrier =
  /** Newline-delimited messages. Both streams are shared by all who have a link to this instance. */
  | { kind: "stdio"; input: Writable; output: Readable }
  /** Opens a connection to its HTTP port; `host` is its Host field. Usable as long as the instance lives. */
  | { kind: "http"; dial: () => Promise<Duplex>; host: string };

/** Masks values of secrets in what a server said; the same object where there is none. */
export type Mask = <T>(value: T) => T;

/**
 * A lease on a running instance: it is not stopped while there is one. The carrier stays usable after the release, until the
 * instance ends; an open stream is no lease, so that clients that only listen keep no server awake.
 */
export interface ServerLink {
  /** Differs for every start of an instance: another one knows nothing of sessions of the one before. */
  readonly incarnation: string;
  readonly version: number;
  readonly contact: ServerContact;
  readonly carrier: LinkCarrier;
  /** For the secrets that the instance has. */
  readonly mask: Mask;
  /** Aborted when the instance ends, whatever the cause; the reason is an AppError. */
  readonly ended: AbortSignal;
  release(): void;
}

export interface ServerPool {
  /** The server of this id in the caller's namespace; undefined for any other. Starts nothing. */
  find(caller: Caller, id: string): ServerRecord | undefined;
  /** How the version that answers calls now is spoken to; undefined while there is none. Starts nothing. */
  contactOf(id: string): ServerContact | undefined;
  /** Starts the server where it does not run, and waits for a stop or a switch of versions that is under way. */
  connect(caller: Caller, id: string, who: LinkFor, signal: AbortSignal): Promise<ServerLink>;
}
