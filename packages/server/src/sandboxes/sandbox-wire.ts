import { AppError } from "../core/errors.ts";
import type {
  HeldStream,
  OutputListener,
  StreamKind,
  StreamSpec,
  Wire,
  WireConfiguration,
  WireStream,
} from "../core/wire.ts";

/**
 * The wire of a sandbox that can stand still. A paused guest answers nothing: nothing is opened, no answer is expected,
 * and a new owner of a paused sandbox has no wire at all before it is resumed.
 */
export class SandboxWire implements Wire {
  readonly lost: Promise<string>;
  readonly #lostGate = Promise.withResolvers<string>();
  readonly #connect: () => Promise<Wire>;
  readonly #configuration: WireConfiguration;
  #inner: Wire | undefined;
  #paused: boolean;
  #reason: string | undefined;

  constructor(connect: () => Promise<Wire>, configuration: WireConfiguration, paused: boolean) {
    this.#connect = connect;
    this.#configuration = configuration;
    this.#paused = paused;
    this.lost = this.#lostGate.promise;
  }

  get paused(): boolean {
    return this.#paused;
  }

  get connected(): boolean {
    return this.#inner !== undefined;
  }

  /** Needs the guest's answer. */
  async connect(): Promise<void> {
    const inner = await this.#connect();
    void inner.lost.then((reason) => this.#lose(reason));
    if (this.#reason !== undefined) return inner.close(this.#reason);
    this.#inner = inner;
    this.configure(this.#configuration);
  }

  open(kind: StreamKind, spec: StreamSpec, listener: OutputListener): WireStream {
    return this.#usable().open(kind, spec, listener);
  }

  openHeld(kind: StreamKind, spec: StreamSpec, listener: OutputListener): HeldStream {
    return this.#usable().openHeld(kind, spec, listener);
  }

  configure(configuration: WireConfiguration): void {
    this.#inner?.configure(configuration);
  }

  async pause(): Promise<void> {
    this.#paused = true;
    this.configure({ ...this.#configuration, warm: [], paused: true });
    await this.#inner?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.configure({ ...this.#configuration, warm: [] });
    this.#inner?.resume();
  }

  close(reason: string): void {
    this.#inner?.close(reason);
    this.#lose(reason);
  }

  checkNotPaused(): void {
    if (this.#paused) throw new AppError("conflict", "the sandbox is paused", { hint: "resume it first" });
  }

  #usable(): Wire {
    this.checkNotPaused();
    if (this.#inner === undefined || this.#reason !== undefined)
      throw new AppError("unavailable", `the sandbox is lost: ${this.#reason ?? "it was never reached"}`, {
        details: { sandbox_lost: true },
      });
    return this.#inner;
  }

  #lose(reason: string): void {
    this.#reason ??= reason;
    this.#lostGate.resolve(this.#reason);
  }
}
