import { type Command, sharedContext } from "../core/command.ts";
import type { CommandHandle } from "../core/command-handle.ts";
import type { ContextInfo, ContextLanguage, ContextRunResult, StatefulResult } from "../core/context.ts";
import { AppError } from "../core/errors.ts";
import type { SandboxFiles } from "../core/file.ts";
import type { SandboxProcess } from "../core/process.ts";
import type { Run, RunIo, RunResult } from "../core/run.ts";
import type { CodeContext } from "./code-context.ts";
import type { ContextIo } from "./context-run.ts";
import { observeRun } from "./observe-run.ts";
import type { Sandbox } from "./sandbox.ts";
import { startCommand } from "./start-command.ts";
import { statefulResult } from "./stateful-result.ts";

/** Opens names for the sandbox until it is disposed of. */
export type OpenDomains = (domains: readonly string[]) => Disposable | Promise<Disposable>;

/** A sandbox that runs one command as it was judged (S106). */
export class OneCommand implements CommandHandle {
  readonly #sandbox: Sandbox;
  readonly #command: Command;
  readonly #openDomains: OpenDomains;

  constructor(sandbox: Sandbox, command: Command, openDomains: OpenDomains) {
    this.#sandbox = sandbox;
    this.#command = command;
    this.#openDomains = openDomains;
  }

  get sandboxId(): string {
    return this.#sandbox.id;
  }

  get files(): SandboxFiles {
    return this.#sandbox.files;
  }

  async start(io: RunIo = {}): Promise<Run> {
    const { what, as } = this.#command;
    if ((as !== "run" && as !== "terminal") || ("code" in what && what.context !== undefined)) throw notSuch("run");
    const { observer, id } = this.#sandbox;
    using opening = new DisposableStack();
    if (this.#command.domains.length > 0) opening.use(await this.#open());
    const start = (observed: RunIo) => startCommand(this.#sandbox, this.#command, observed);
    const run = await observeRun(observer, id, this.#command, io, start);
    const open = opening.move();
    const result = run.result.finally(() => open.dispose());
    result.catch(() => undefined); // whoever awaits it gets the error; nobody must
    return { ...run, result };
  }

  async run(io: RunIo = {}): Promise<RunResult> {
    return (await this.start(io)).result;
  }

  async runInContext(io: RunIo = {}): Promise<ContextRunResult> {
    using _open = await this.#open();
    const { context } = await this.#context();
    return await context.runCommand(this.#command, toContextIo(io));
  }

  async runStateful(io: RunIo = {}): Promise<StatefulResult> {
    using _open = await this.#open();
    const { context, isNew } = await this.#context();
    return await statefulResult(this.#sandbox, isNew, () => context.runCommand(this.#command, toContextIo(io)));
  }

  createContext(): Promise<ContextInfo> {
    return this.#sandbox.contexts.createFor(this.#command);
  }

  async startProcess(): Promise<SandboxProcess> {
    if (this.#command.as !== "process") throw notSuch("process");
    return this.#sandbox.processes.startCommand(this.#command);
  }

  async #context(): Promise<{ context: CodeContext; isNew: boolean }> {
    const { what } = this.#command;
    if (!("code" in what) || what.context === undefined) throw notSuch("code in a context");
    const { contexts } = this.#sandbox;
    if (what.context.id === sharedContext.id) return contexts.shared(what.language as ContextLanguage);
    return { context: contexts.get(what.context.id), isNew: false };
  }

  async #open(): Promise<Disposable | undefined> {
    const { domains } = this.#command;
    return domains.length === 0 ? undefined : this.#openDomains(domains);
  }
}

function toContextIo({ onOutput, signal }: RunIo): ContextIo {
  const to = (channel: "stdout" | "stderr") => onOutput && ((chunk: Buffer) => onOutput(channel, chunk));
  return { listeners: { stdout: to("stdout"), stderr: to("stderr") }, ...(signal && { signal }) };
}

const notSuch = (what: string) => new AppError("internal", `the command is not ${what}`);
