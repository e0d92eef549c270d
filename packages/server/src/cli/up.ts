import { dirname } from "node:path";
import type { Configuration } from "../config/config.ts";
import type { Variables } from "../config/env.ts";
import type { GivenSecrets } from "../config/secrets.ts";
import { openUp, startAgain, type UpStatus } from "../processes/up.ts";
import { makeHome } from "../supervision/access.ts";
import { BoundedLog } from "../supervision/bounded-log.ts";
import type { CertificateStatus } from "../supervision/certificate-watch.ts";
import { askControl } from "../supervision/control.ts";
import { layoutOf } from "../supervision/layout.ts";
import { certificateCheck } from "./certificate-check.ts";
import { exitCodes } from "./exit-codes.ts";
import type { ReportPlan } from "./report-options.ts";
import type { RunIo } from "./run.ts";
import { visible } from "./terminal.ts";
import type { UpPlan } from "./up-options.ts";
import { version } from "./version.ts";

/** Returns when the daemon is stopped. */
export async function up(
  configuration: Configuration,
  secrets: GivenSecrets,
  variables: Variables,
  plan: UpPlan,
  io: RunIo,
): Promise<number> {
  const asked = signalled();
  await makeHome(configuration.home);
  using file = plan.log ? new BoundedLog(layoutOf(configuration.home).log) : undefined;
  const log = (name: string, text: string) => {
    const lines = text.trimEnd().split("\n").map(visible);
    const stamp = file === undefined ? "" : `${new Date().toISOString()} `;
    for (const line of lines) (file ?? io.stderr).write(`${stamp}${name}: ${line}\n`);
  };
  const code = dirname(process.argv[1] ?? "");
  await using opened = await openUp({ configuration, secrets, variables, version, code, log });
  io.stdout.write(describe(opened.address, opened.link, layoutOf(configuration.home).adminKey));
  await Promise.race([asked, opened.asked]);
  log("caisson", "stopping");
  return 0;
}

/** Starts a copy of this program in a new session, and returns when that copy is ready or has failed. */
export async function upDetached(plan: UpPlan, variables: Variables, io: RunIo): Promise<number> {
  const config = plan.configFile === undefined ? [] : ["--config", plan.configFile];
  const child = startAgain([process.argv[1] ?? "", "up", "--log", ...config], variables);
  child.stderr?.pipe(io.stderr, { end: false });
  const code = await new Promise<number>((resolve) => {
    child.on("error", (error) => {
      io.stderr.write(`caisson: ${error.message}\n`);
      resolve(exitCodes.failed);
    });
    child.on("close", (ended) => resolve(ended ?? exitCodes.failed));
    child.stdout?.once("data", (text: Buffer) => {
      io.stdout.write(text);
      resolve(0);
    });
  });
  for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe?.destroy();
  child.unref();
  return code;
}

export async function down(configuration: Configuration, plan: ReportPlan, io: RunIo): Promise<number> {
  const status = await askControl<UpStatus>(layoutOf(configuration.home).controlSocket, "down");
  if (plan.json) io.stdout.write(`${JSON.stringify({ was_running: status !== undefined })}\n`);
  else if (status === undefined) io.stderr.write(`caisson: no daemon is running for ${configuration.home}\n`);
  return 0;
}

export async function status(configuration: Configuration, plan: ReportPlan, io: RunIo): Promise<number> {
  const found = await askControl<UpStatus>(layoutOf(configuration.home).controlSocket, "status");
  if (plan.json) io.stdout.write(`${JSON.stringify(toJson(found, configuration.home), null, 2)}\n`);
  else if (found === undefined) io.stdout.write(`no daemon is running for ${configuration.home}\n`);
  else {
    const state = found.ready ? "ready" : "restarting";
    const pids = `pid ${found.pid}, engine ${found.engine?.pid ?? "-"}, daemon ${found.daemon?.pid ?? "-"}`;
    io.stdout.write(`${state} on ${found.address} (${pids}; restarted ${found.restarts} times)\n`);
    if (found.url !== found.address) io.stdout.write(`links start with ${found.url}\n`);
    if (found.certificate !== null) io.stdout.write(describeCertificate(found.certificate));
  }
  return found === undefined ? 1 : 0;
}

function describeCertificate(status: CertificateStatus): string {
  const { name, state, detail, hint } = certificateCheck(status);
  const mark = state === "ok" ? "" : "warning: ";
  return `${mark}${name} ${visible(detail)}\n${hint === undefined ? "" : `hint: ${hint}\n`}`;
}

function toJson(found: UpStatus | undefined, home: string): object {
  if (found === undefined) return { running: false, home };
  const { pid, address, url, certificate, ready, restarts, engine, daemon, host } = found;
  return {
    running: true,
    home,
    address,
    url,
    certificate: certificate && { expires_at: certificate.expiresAt, problem: certificate.problem },
    ready,
    restarts,
    pid,
    engine: engine && { pid: engine.pid, started_at: engine.startedAt },
    daemon: daemon && { pid: daemon.pid, uid: daemon.uid, started_at: daemon.startedAt },
    host: host && { pid: host.pid, uid: host.uid, started_at: host.startedAt },
  };
}

function describe(address: string, link: string | null, keyFile: string): string {
  const first = `Caisson listens on ${address}\n`;
  if (link === null) return `${first}The administrator key is in ${keyFile}\n`;
  return `${first}Open this link once to get an administrator key: ${link}\nOr use the key in ${keyFile}\n`;
}

/** A second signal ends this process at once; its child processes then end on their own. */
function signalled(): Promise<void> {
  return new Promise((resolve) => {
    let count = 0;
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
      process.on(signal, () => {
        if (++count > 1) process.exit(exitCodes.failed);
        resolve();
      });
  });
}
