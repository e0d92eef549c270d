import type { ClientRequest, IncomingMessage } from "node:http";
import type { Duplex, Readable } from "node:stream";
import { AppError } from "../core/errors.ts";
import { requestOver } from "./request.ts";

export interface Ask {
  method: string;
  /** With its query. */
  path: string;
  /** Names and values in turn. */
  fields: readonly string[];
  /** Largest head of an answer. */
  headBytes: number;
  /** Longest wait for the answer to begin, once the whole request was sent. */
  answerMs: number;
  /** Name of the other side in errors: `the host`. */
  peer: string;
}

interface Way {
  /** Carries the connection, where that is TLS on another one: destroyed in its place. */
  carrier?: Duplex;
  body?: Readable | undefined;
}

/** Fields by which both sides agree to a WebSocket. */
export const upgradeFields = ["Connection", "Upgrade", "Upgrade", "websocket"];

/** Sends a request and resolves when its answer begins. */
export function ask(connection: Duplex, asked: Ask, way: Way = {}): Promise<IncomingMessage> {
  return begin(connection, asked, way, (out, resolve: (answer: IncomingMessage) => void) =>
    out.on("response", resolve),
  );
}

/** Asks for a WebSocket: the rest of the connection is the peer's if it agrees. A peer that refuses has answered. */
export function askUpgrade(connection: Duplex, asked: Ask): Promise<{ answer: IncomingMessage; isUpgraded: boolean }> {
  const fields = [...asked.fields, ...upgradeFields];
  return begin(connection, { ...asked, fields }, {}, (out, resolve) => {
    out.on("response", (answer) => resolve({ answer, isUpgraded: false }));
    out.on("upgrade", (answer, _socket, first) => {
      if (first.length > 0) connection.unshift(first);
      resolve({ answer, isUpgraded: true });
    });
  });
}

async function begin<T>(
  connection: Duplex,
  { method, path, fields, headBytes, answerMs, peer }: Ask,
  { carrier = connection, body }: Way,
  listen: (out: ClientRequest, resolve: (begun: T) => void) => void,
): Promise<T> {
  const begun = Promise.withResolvers<T>();
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const out = requestOver(connection, { method, path, headers: [...fields], maxHeaderSize: headBytes });
  const fail = (error: AppError) => {
    begun.reject(error);
    carrier.destroy(error);
  };
  const wait = () => {
    if (!isOver) timer = setTimeout(() => fail(new AppError("timeout", `${peer} does not answer`)), answerMs);
  };
  listen(out, begun.resolve);
  out.on("error", begun.reject);
  carrier.once("close", () => begun.reject(new AppError("unavailable", `${peer} has ended the connection`)));
  if (body === undefined) {
    out.end();
    wait();
  } else {
    out.once("finish", wait);
    body.on("error", (error) => out.destroy(error)).pipe(out);
  }
  try {
    return await begun.promise;
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}
