import { constants } from "node:os";
import type { Sandbox, Terminal } from "@caisson/sdk";
import type { Configuration } from "../../config/config.ts";
import type { Variables } from "../../config/env.ts";
import { AppError } from "../../core/errors.ts";
import { defined } from "../../lib/defined.ts";
import { quote } from "../../lib/quote.ts";
import { atTerminal } from "../at-terminal.ts";
import type { Interrupt } from "../interrupt.ts";
import { makeRaw, terminalSizeOf } from "../raw-terminal.ts";
import type { RunIo } from "../run.ts";
import type { DaemonShellPlan } from "../shell-options.ts";
import { findDaemon, toAppError } from "./connect.ts";

/** The program and its arguments as one line for a shell. */
function lineOf(command: readonly string[]): string | undefined {
  return command.length === 0 ? undefined : command.map(quote).join(" ");
}

/** Joins the two terminals until the program in the sandbox ends or the user's terminal closes. */
async function converse(sandbox: Sandbox, plan: DaemonShellPlan, io: RunIo, { signal, pass }: Interrupt) {
  const early: Uint8Array[] = [];
  let show = (data: Uint8Array) => void early.push(data); // a terminal that is not raw yet would change it
  const onOutput = (data: Uint8Array) => show(data);
  const asked = defined({ ...terminalSizeOf(io.stdout), command: lineOf(plan.command), onOutput });
  const opening = sandbox.terminal(asked);
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => undefined);
  const leave = () => {
    opening.then((terminal) => terminal[Symbol.dispose]()).catch(() => undefined);
    aborted.reject(signal.reason);
  };
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  using terminal = await Promise.race([opening, aborted.promise]);
  await using _raw = await makeRaw(io.stdin, io.stdout);
  show = (data) => void io.stdout.write(data);
  for (const data of early) show(data);
  pass(() => terminal.signal(constants.signals.SIGHUP));
  using _joined = join(terminal, io);
  const { exit_code } = await Promise.race([terminal.ended, aborted.promise]);
  return exit_code;
}

/** Forwards keys and the size of the window to the sandbox. */
function join(terminal: Terminal, { stdin, stdout }: RunIo): Disposable {
  const type = (data: Buffer) => terminal.write(Uint8Array.from(data));
  const resize = () => terminal.resize(terminalSizeOf(stdout));
  stdin.on("data", type);
  stdout.on("resize", resize);
  resize(); // it may have changed while the terminal was opened
  return {
    [Symbol.dispose]: () => {
      stdin.off("data", type).pause();
      stdout.off("resize", resize);
    },
  };
}

/** `caisson shell SANDBOX`: a terminal in an existing sandbox, which is kept. */
export async function shellIn(
  configuration: Configuration,
  variables: Variables,
  plan: DaemonShellPlan,
  io: RunIo,
): Promise<number> {
  const { sandboxId, namespace } = plan;
  try {
    return await atTerminal(io, async (interrupt) => {
      const daemon = await findDaemon(configuration, variables, defined({ namespace }));
      if (daemon === undefined)
        throw new AppError(
          "unavailable",
          `cannot open a shell in '${sandboxId}': no daemon is running for ${configuration.home}`,
          {
            hint: "start one: caisson up --detach; for a new sandbox: caisson shell -- COMMAND",
          },
        );
      return converse(await daemon.getSandbox(sandboxId), plan, io, interrupt);
    });
  } catch (error) {
    throw toAppError(error);
  }
}
