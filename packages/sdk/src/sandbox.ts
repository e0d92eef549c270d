import { Artifacts } from "./artifacts.ts";
import type { CheckpointInfo } from "./checkpoints.ts";
import { Contexts } from "./contexts.ts";
import { SandboxEgressRules } from "./egress.ts";
import { Files } from "./files.ts";
import type { Fork, ForkInfo, ForkOptions } from "./fork.ts";
import { type LiveOptions, readLive } from "./live.ts";
import { Packages } from "./packages.ts";
import { Ports } from "./ports.ts";
import { Processes } from "./processes.ts";
import type { RunMessage, RunOptions, RunResult } from "./run.ts";
import type { RunRecord, SandboxStats } from "./run-record.ts";
import type { SandboxChanges, SandboxInfo } from "./sandbox-info.ts";
import type { InstalledSkill, InstalledSkills } from "./skills.ts";
import { SandboxSnapshots } from "./snapshots.ts";
import { Terminal, type TerminalOptions } from "./terminal.ts";
import type { Transport } from "./transport.ts";

/** A line for the shell, or a program and its arguments. */
export type Command = string | readonly string[];
export type Language = "python" | "node" | "shell";

/** One sandbox of a daemon. `await using` destroys it at the end of its block. */
export class Sandbox implements AsyncDisposable {
  readonly id: string;
  /** As it was when this handle was made or last refreshed. */
  info: SandboxInfo;
  readonly files: Files;
  readonly processes: Processes;
  readonly contexts: Contexts;
  readonly artifacts: Artifacts;
  readonly snapshots: SandboxSnapshots;
  readonly ports: Ports;
  readonly egress: SandboxEgressRules;
  readonly packages: Packages;
  readonly #transport: Transport;
  readonly #path: string;

  constructor(transport: Transport, info: SandboxInfo) {
    this.id = info.id;
    this.info = info;
    this.#transport = transport;
    this.#path = `/api/v1/sandboxes/${encodeURIComponent(info.id)}`;
    this.files = new Files(transport, this.#path);
    this.processes = new Processes(transport, this.#path);
    this.contexts = new Contexts(transport, this.#path);
    this.snapshots = new SandboxSnapshots(transport, this.#path);
    this.artifacts = new Artifacts(transport, this.#path);
    this.ports = new Ports(transport, this.#path);
    this.egress = new SandboxEgressRules(transport, this.#path);
    this.packages = new Packages(transport, this.#path);
  }

  /** Runs a command and waits for its end, whatever its exit code. */
  exec(command: Command, options: RunOptions & LiveOptions = {}): Promise<RunResult> {
    return this.#run("exec", { command }, options);
  }

  /** Runs a command and gives its output as it comes; leaving the loop ends it. */
  execStream(command: Command, options: RunOptions & LiveOptions = {}): AsyncGenerator<RunMessage, void> {
    return this.#stream("exec", { command }, options);
  }

  executeCode(language: Language, code: string, options: RunOptions & LiveOptions = {}): Promise<RunResult> {
    return this.#run("execute_code", { language, code }, options);
  }

  executeCodeStream(
    language: Language,
    code: string,
    options: RunOptions & LiveOptions = {},
  ): AsyncGenerator<RunMessage, void> {
    return this.#stream("execute_code", { language, code }, options);
  }

  /** A terminal of its own: a shell, unless a command is given. */
  terminal(options: TerminalOptions): Promise<Terminal> {
    return Terminal.open(this.#transport, this.#path, options);
  }

  /** Records of what was run, newest first. */
  runs(options: { limit?: number; cursor?: string } = {}): Promise<RunRecord[]> {
    return this.#transport.json("GET", `${this.#path}/runs`, { query: { ...options } });
  }

  /** Into /workspace/skills, each in a folder of its name: ids, names (the newest) or `name@version`. */
  installSkills(skills: readonly string[]): Promise<InstalledSkills> {
    return this.#transport.json("POST", `${this.#path}/skills`, { json: { skill_ids: skills } });
  }

  /** As its /workspace/skills/index.json tells them. */
  installedSkills(): Promise<InstalledSkill[]> {
    return this.#transport.json("GET", `${this.#path}/skills`);
  }

  stats(): Promise<SandboxStats> {
    return this.#transport.json("GET", `${this.#path}/stats`);
  }

  /** Its variables with their values; secrets are not among them. `change({ env })` sets them. */
  env(): Promise<Record<string, string>> {
    return this.#transport.json("GET", `${this.#path}/env`);
  }

  async refresh(): Promise<SandboxInfo> {
    this.info = await this.#transport.json("GET", this.#path);
    return this.info;
  }

  async change(changes: SandboxChanges): Promise<SandboxInfo> {
    this.info = await this.#transport.json("PATCH", this.#path, { json: changes });
    return this.info;
  }

  start = (): Promise<SandboxInfo> => this.#move("start");
  stop = (): Promise<SandboxInfo> => this.#move("stop");
  pause = (): Promise<SandboxInfo> => this.#move("pause");
  resume = (): Promise<SandboxInfo> => this.#move("resume");
  /** Ends what runs and empties the workspace. */
  reset = (): Promise<SandboxInfo> => this.#move("reset");

  /** Copies of it: with what runs in it where that can be, else of its files; `memory` and `why` say which. */
  async fork(options: ForkOptions = {}): Promise<Fork> {
    const { sandboxes, ...rest } = await this.#transport.json<ForkInfo>("POST", `${this.#path}/fork`, {
      json: options,
      timeoutMs: null,
    });
    return { ...rest, sandboxes: sandboxes.map((info) => new Sandbox(this.#transport, info)) };
  }

  /** Saves it, memory and processes included; it goes on. `caisson.checkpoints` makes sandboxes of what was saved. */
  checkpoint(name = ""): Promise<CheckpointInfo> {
    return this.#transport.json("POST", `${this.#path}/checkpoints`, { json: { name }, timeoutMs: null });
  }

  async destroy(): Promise<void> {
    await this.#transport.json("DELETE", this.#path);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.destroy();
  }

  #run(verb: string, what: object, { signal, ...options }: RunOptions & LiveOptions): Promise<RunResult> {
    const json = { ...what, ...options };
    const call = { json, timeoutMs: null, ...(signal === undefined ? {} : { signal }) };
    return this.#transport.json("POST", `${this.#path}/${verb}`, call);
  }

  #stream(verb: string, what: object, { signal, ...options }: RunOptions & LiveOptions) {
    const call = { json: { ...what, ...options, stream: true }, ...(signal === undefined ? {} : { signal }) };
    return readLive<RunMessage>(this.#transport, "POST", `${this.#path}/${verb}`, call, "result");
  }

  async #move(verb: string): Promise<SandboxInfo> {
    this.info = await this.#transport.json("POST", `${this.#path}/${verb}`);
    return this.info;
  }
}
