import type { JSONRPCMessage } from "@modelcontextprotocol/server";

export type Id = string | number;
export type Params = Readonly<Record<string, unknown>>;

export interface Request {
  readonly jsonrpc: "2.0";
  readonly id: Id;
  readonly method: string;
  readonly params?: Params;
}

export interface Notification {
  readonly jsonrpc: "2.0";
  readonly method: string;
  readonly params?: Params;
}

interface Result {
  readonly jsonrpc: "2.0";
  readonly id: Id;
  readonly result: Params;
}

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export interface Failure {
  readonly jsonrpc: "2.0";
  readonly id: Id;
  readonly error: RpcError;
}

export type Answer = Result | Failure;
/** One message of JSON-RPC 2.0. None is changed: a stage that changes one returns another. */
export type Message = Request | Notification | Answer;

export function isRequest(message: Message): message is Request {
  return "method" in message && "id" in message;
}

export function isAnswer(message: Message): message is Answer {
  return !("method" in message);
}

export function isRecord(value: unknown): value is Params {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Fields of `_meta`; none where it has none. */
export function metaOf({ params }: { readonly params?: Params }): Params {
  return isRecord(params?._meta) ? params._meta : {};
}

/** The same message with other fields in `_meta`; those that are undefined are left out. */
export function withMeta<M extends Request | Notification>(message: M, changes: Params): M {
  const kept = Object.entries({ ...metaOf(message), ...changes }).filter(([, value]) => value !== undefined);
  return withParams(message, { _meta: Object.fromEntries(kept) });
}

export function withParams<M extends Request | Notification>(message: M, changes: Params): M {
  return { ...message, params: { ...message.params, ...changes } };
}

export function withId<M extends Request | Answer>(message: M, id: Id): M {
  return { ...message, id };
}

/** Types of the protocol's library say more of a message than anybody has looked at. */
export function forLibrary(message: Message): JSONRPCMessage {
  return message as JSONRPCMessage;
}
