import { readFile } from "node:fs/promises";
import type { CreateOptions } from "../../packages/server/src/app.ts";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { openTestCaisson, ordinary, type TestCaisson } from "../harness.ts";
import { runOnHost } from "./host-run.ts";
import { type Ground, NotApplicable, type Probe } from "./probe.ts";
import { holdInSandbox } from "./program-probe.ts";
import { Stage } from "./stage.ts";

interface Neighbour {
  sandbox: Sandbox;
  values: Readonly<Record<string, string>>;
}

/** The host's stage, and on each engine a sandbox to probe from and a neighbour with secrets of its own. */
export class Field implements AsyncDisposable {
  readonly stage: Stage;
  readonly #caisson: TestCaisson;
  readonly #stack: AsyncDisposableStack;
  readonly #neighbours = new Map<EngineName, Promise<Neighbour>>();
  readonly #shared = new Map<EngineName, Sandbox>();

  private constructor(caisson: TestCaisson, stage: Stage, stack: AsyncDisposableStack) {
    this.#caisson = caisson;
    this.stage = stage;
    this.#stack = stack;
  }

  static async open(): Promise<Field> {
    await using stack = new AsyncDisposableStack();
    const caisson = stack.use(await openTestCaisson());
    const stage = stack.use(await Stage.set(caisson.home));
    return new Field(caisson, stage, stack.move());
  }

  /** Runs it where the probe wants to be run: in the engine's common sandbox, or in one of its own. */
  async use<T>(engine: EngineName, probe: Partial<Probe>, action: (ground: Ground) => Promise<T>): Promise<T> {
    const { sandbox: neighbour, values } = await this.#neighbour(engine);
    const create = (options: CreateOptions) => this.#create(engine, options);
    const around = { engine, neighbour, stage: this.stage, values, create };
    if (ordinary && probe.rootJudges !== undefined) throw new NotApplicable(probe.rootJudges);
    if (probe.own === undefined) return action({ ...around, sandbox: await this.#common(engine) });
    await using sandbox = await this.#create(engine, { limits: probe.own });
    const lacking = sandbox.notEnforced.find(({ what }) => what === probe.needs);
    if (lacking !== undefined) throw new NotApplicable(`${lacking.what} is not enforced: ${lacking.why}`);
    const result = await action({ ...around, sandbox });
    await this.#checkCalm(neighbour);
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const sandbox of this.#shared.values()) await sandbox.destroy();
    await this.#stack.disposeAsync();
  }

  async #create(engine: EngineName, options: CreateOptions): Promise<Sandbox> {
    const sandbox = await this.#caisson.caisson.createSandbox({ ...options, engine });
    await sandbox.files.write("probe", await readFile(this.stage.program), 0o755);
    return sandbox;
  }

  /** A probe that ended the common sandbox has failed; those after it get a new one. */
  async #common(engine: EngineName): Promise<Sandbox> {
    const known = this.#shared.get(engine);
    if (known !== undefined) return known;
    const sandbox = await this.#create(engine, {});
    this.#shared.set(engine, sandbox);
    sandbox.lost.then(() => {
      if (this.#shared.get(engine) === sandbox) this.#shared.delete(engine);
      return sandbox.destroy();
    });
    return sandbox;
  }

  #neighbour(engine: EngineName): Promise<Neighbour> {
    const made = this.#neighbours.get(engine) ?? this.#settle(engine);
    this.#neighbours.set(engine, made);
    return made;
  }

  /** The neighbour has a file, a port, an abstract socket, shared memory and a queue, all of which tell its secret. */
  async #settle(engine: EngineName): Promise<Neighbour> {
    const secret = `${this.stage.token}-neighbour`;
    const sandbox = this.#stack.use(await this.#create(engine, {}));
    const hold = async (...words: string[]) => this.#stack.use(await holdInSandbox(sandbox, this.stage.fill(words)));
    await sandbox.files.write("secret", secret);
    await hold("hold-system-v", "{neighbourKey}", secret);
    await hold("hold-file", "/dev/shm/{neighbourMark}", secret);
    await hold("hold-abstract", "{neighbourMark}", secret);
    if (engine === "container") await hold("hold-queue", "{neighbourMark}", secret);
    const port = await hold("hold-port", secret);
    return { sandbox, values: { neighbourPort: port.words[0] ?? "" } };
  }

  /** The host and the neighbour still work. */
  async #checkCalm(neighbour: Sandbox): Promise<void> {
    const host = await runOnHost(["/bin/true"]);
    if (host.exitCode !== 0) throw new Error("the host does not start programs any more");
    const answer = await neighbour.exec({ command: ["/bin/true"], trackFiles: false, limits: { timeoutMs: 20_000 } });
    if (answer.exit_code !== 0) throw new Error(`the neighbour does not work any more: ${JSON.stringify(answer)}`);
  }
}
