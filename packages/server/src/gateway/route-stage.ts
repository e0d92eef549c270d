import { CLIENT_CAPABILITIES_META_KEY } from "@modelcontextprotocol/server";
import { AppError } from "../core/errors.ts";
import { mayUseServer } from "../core/scope.ts";
import {
  isRecord,
  type Message,
  metaOf,
  type Notification,
  type Params,
  type Request,
  withMeta,
  withParams,
} from "./message.ts";
import { rowOf } from "./methods.ts";
import { RpcRefusal, rpcCodes } from "./rpc-error.ts";
import { change, pass, refuse, type Stage } from "./stage.ts";

const tasksExtension = "io.modelcontextprotocol/tasks";

/** Passes a client's message if the table names its method and the key may use it; refuses any other. */
export const clientMethods: Stage = (message, { caller, server, era }) => {
  if (!("method" in message)) return pass; // it answers a question that this client was asked
  const row = rowOf(message, "client");
  if (row === undefined || !row.eras.includes(era)) return refuse(unknownMethod(message));
  const isNarrow = row.forTools === undefined || listensToResources(message);
  if (isNarrow && !mayUseServer(caller.principal, server.id))
    return refuse(
      new AppError("forbidden", `this key may call tools of this server, and not ${message.method}`, {
        hint: `the key needs the scope server:${server.id}`,
      }),
    );
  if (era === "legacy" && message.method === "tools/call" && message.params?.task !== undefined)
    return refuse(
      new AppError("unsupported", "calls as tasks do not pass the gateway", { hint: "call without `task`" }),
    );
  return changed(message, declaredByClient(message));
};

/** Passes a server's message if the table names its method, and every answer; refuses any other. */
export const serverMethods: Stage = (message, { era, request }) => {
  if (!("method" in message)) return changed(message, declaredByServer(message, request));
  const row = rowOf(message, "server");
  if (row === undefined || !row.eras.includes(era)) return refuse(unknownMethod(message));
  // A server sees nothing of what the client has from others (hazard 24).
  if (message.method === "sampling/createMessage" && message.params?.includeContext !== undefined)
    return change(withParams(message, { includeContext: "none" }));
  return pass;
};

function unknownMethod({ method }: Request | Notification): RpcRefusal {
  return new RpcRefusal(
    rpcCodes.methodNotFound,
    `the method ${JSON.stringify(method.slice(0, 100))} does not pass the gateway`,
  );
}

function listensToResources({ method, params }: Request | Notification): boolean {
  if (method !== "subscriptions/listen") return false;
  const { notifications } = params ?? {};
  return !isRecord(notifications) || notifications.resourceSubscriptions !== undefined;
}

function changed<M extends Message>(message: M, other: M) {
  return other === message ? pass : change(other);
}

/** Tasks do not pass the gateway, so neither side hears that the other knows them. */
function declaredByClient<M extends Request | Notification>(message: M): M {
  if (message.method === "initialize") {
    const capabilities = withoutTasks(message.params?.capabilities);
    return capabilities === undefined ? message : withParams(message, { capabilities });
  }
  const capabilities = withoutTasks(metaOf(message)[CLIENT_CAPABILITIES_META_KEY]);
  return capabilities === undefined ? message : withMeta(message, { [CLIENT_CAPABILITIES_META_KEY]: capabilities });
}

function declaredByServer<M extends Message>(message: M, request: Request | undefined): M {
  if (!("result" in message) || (request?.method !== "initialize" && request?.method !== "server/discover"))
    return message;
  const capabilities = withoutTasks(message.result.capabilities);
  return capabilities === undefined ? message : { ...message, result: { ...message.result, capabilities } };
}

/** Undefined if there is nothing to leave out. */
function withoutTasks(capabilities: unknown): Params | undefined {
  if (!isRecord(capabilities)) return undefined;
  const { tasks, extensions, ...kept } = capabilities;
  const hasExtension = isRecord(extensions) && tasksExtension in extensions;
  if (tasks === undefined && !hasExtension) return undefined;
  if (!isRecord(extensions)) return kept;
  const { [tasksExtension]: _, ...others } = extensions;
  return { ...kept, extensions: others };
}
