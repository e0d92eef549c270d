import { once } from "node:events";
import type { Caisson } from "@caisson/sdk";
import type { Configuration } from "../../config/config.ts";
import { namesDaemon, type Variables } from "../../config/env.ts";
import { messageOf } from "../../core/errors.ts";
import { serverIdPattern } from "../../core/server.ts";
import type { StdioOptions } from "../../processes/stdio-service.ts";
import { askControl } from "../../supervision/control.ts";
import { layoutOf } from "../../supervision/layout.ts";
import { exitCodes } from "../exit-codes.ts";
import type { RunIo } from "../run.ts";
import { version } from "../version.ts";
import type { BridgeParts } from "./bridge.ts";
import type { McpPlan } from "./options.ts";

/** `caisson mcp`: serves until the client closes standard input or a signal ends this process. */
export async function serveMcp(
  configuration: Configuration,
  variables: Variables,
  plan: McpPlan,
  { stdin, stdout, stderr }: RunIo,
): Promise<number> {
  // Standard output carries only the protocol.
  const log = (text: string) => void stderr.write(`caisson: ${text}\n`);
  const ended = leaving({ stdin, stdout });
  const given = { stdin, stdout, log, ...(plan.tools === undefined ? {} : { tools: plan.tools }) };
  const { server } = plan;
  await using _serving =
    server !== undefined || (await hasDaemon(configuration, variables))
      ? await openBridged(configuration, variables, { ...given, ...(server === undefined ? {} : { server }) })
      : await openAlone(configuration, variables, given);
  await ended;
  // A close that hangs must not outlive the client: sandboxes end on their own once their owner is gone.
  setTimeout(() => process.exit(exitCodes.failed), 5_000).unref();
  return 0;
}

/** Tool sets: those of the option, else the configured ones, else the default of the command. */
export function toolsOf(
  { settings, origins }: Configuration,
  { tools }: McpPlan,
  usual: readonly string[],
): readonly string[] {
  return tools ?? (origins["mcp.tools"] === "default" ? usual : settings["mcp.tools"]);
}

/** Loads the service while the first sandbox starts. */
async function openAlone(
  configuration: Configuration,
  variables: Variables,
  given: Omit<StdioOptions, "configuration" | "variables" | "version" | "start">,
): Promise<AsyncDisposable> {
  const onError = (error: unknown) => given.log(messageOf(error));
  const { startStdio } = await import("../../processes/stdio-start.ts");
  await using opened = new AsyncDisposableStack();
  const start = opened.use(await startStdio(configuration, onError));
  const { openStdioService } = await import("../../processes/stdio-service.ts");
  opened.move();
  return openStdioService({ configuration, variables, version, start, ...given });
}

async function openBridged(
  configuration: Configuration,
  variables: Variables,
  { server, ...given }: Omit<BridgeParts, "caisson" | "path"> & { server?: string },
): Promise<AsyncDisposable> {
  const [{ connect, toAppError }, { openBridge }] = await Promise.all([
    import("../client/connect.ts"),
    import("./bridge.ts"),
  ]);
  const caisson = await connect(configuration, variables);
  if (server === undefined) return openBridge({ caisson, ...given });
  const path = await endpointOf(caisson, server).catch((error: unknown) => {
    throw toAppError(error);
  });
  return openBridge({ caisson, ...given, path });
}

/** A key for one server cannot look up a name, so an id is taken as it is. */
async function endpointOf(caisson: Caisson, server: string): Promise<string> {
  const id = serverIdPattern.test(server) ? server : (await caisson.servers.get(server)).id;
  return `/sandbox/${id}/mcp`;
}

async function hasDaemon({ home }: Configuration, variables: Variables): Promise<boolean> {
  if (namesDaemon(variables)) return true;
  return (await askControl(layoutOf(home).controlSocket, "status")) !== undefined;
}

function leaving({ stdin, stdout }: Pick<RunIo, "stdin" | "stdout">): Promise<unknown> {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"].map((name) => once(process, name));
  const closed = (stream: NodeJS.EventEmitter, name: string) => once(stream, name).catch(() => undefined);
  return Promise.race([closed(stdin, "end"), closed(stdin, "close"), closed(stdout, "close"), ...signals]);
}
