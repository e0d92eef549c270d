import { AppError } from "../core/errors.ts";
import type { Tunnels } from "../core/tunnel.ts";
import type {
  HeldStream,
  OutputListener,
  StreamKind,
  StreamSpec,
  Wire,
  WireConfiguration,
  WireStream,
} from "../core/wire.ts";

/** Who wants the sandbox to stand still. */
type Holder = "caller" | "disk" | "checkpoint";

/**
 * The wire of a sandbox that can stand still. A paused guest answers nothing: nothing is opened, no answer is expected,
 * and a new owner of a paused sandbox has no wire at all before it is resumed.
 */
export class SandboxWire implements Wire {
  readonly lost: Promise<string>;
  readonly #lostGate = Promise.withResolvers<string>();
  readonly #connect: () => Promise<Wire>;
  #configuration: WireConfiguration;
  #inner: Wire | undefined;
  readonly #holders = new Set<Holder>();
  #standing: Promise<void> = Promise.resolve();
  #reason: string | undefined;

  constructor(connect: () => Promise<Wire>, configuration: WireConfiguration, paused: boolean) {
    this.#connect = connect;
    this.#configuration = configuration;
    if (paused) this.#holders.add("caller");
    this.lost = this.#lostGate.promise;
  }

  get paused(): boolean {
    return this.#holders.has("caller");
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

  get tunnels(): Tunnels {
    return this.#usable().tunnels;
  }

  configure(configuration: WireConfiguration): void {
    this.#inner?.configure(configuration);
  }

  /** One that stands still is told when it goes on. */
  reconfigure(changes: Pick<WireConfiguration, "memoryBytes" | "cold">): void {
    this.#configuration = { ...this.#configuration, ...changes, warm: [] };
    if (this.#holders.size === 0) this.configure(this.#configuration);
  }

  /** One that stands still answers nothing. */
  get answeredMs(): number {
    return this.#holders.size > 0 || this.#inner === undefined ? Number.NEGATIVE_INFINITY : this.#inner.answeredMs;
  }

  async ping(timeoutMs: number): Promise<void> {
    return this.#usable().ping(timeoutMs);
  }

  /** A full disk holds a sandbox as its caller does, but refuses nothing: what is asked for waits. */
  async pause(holder: Holder = "caller"): Promise<void> {
    const wasStill = this.#holders.size > 0;
    this.#holders.add(holder);
    if (!wasStill) this.#standing = this.#stand();
    await this.#standing;
  }

  async #stand(): Promise<void> {
    this.configure({ ...this.#configuration, warm: [], paused: true });
    await this.#inner?.pause();
  }

  /** For a checkpoint: as a full disk holds it, and nothing reaches the guest. */
  async still(): Promise<boolean> {
    this.#usable();
    if (this.#holders.size > 0) return false;
    this.#holders.add("checkpoint");
    this.configure({ ...this.#configuration, warm: [], paused: true });
    return (await this.#inner?.still()) ?? false;
  }

  async drained(): Promise<void> {
    await this.#inner?.drained();
  }

  resume(holder: Holder = "caller"): void {
    if (!this.#holders.delete(holder) || this.#holders.size > 0) return;
    this.configure({ ...this.#configuration, warm: [] });
    this.#inner?.resume();
  }

  close(reason: string): void {
    this.#inner?.close(reason);
    this.#lose(reason);
  }

  checkNotPaused(): void {
    if (this.paused) throw new AppError("conflict", "the sandbox is paused", { hint: "resume it first" });
  }

  checkUsable(): void {
    this.#usable();
  }

  #usable(): Wire {
    this.checkNotPaused();
    if (this.#inner === undefined || this.#reason !== undefined)
      throw new AppError("unavailable", `the sandbox is lost: ${this.#reason ?? "no connection to it"}`, {
        details: { sandbox_lost: true },
      });
    return this.#inner;
  }

  #lose(reason: string): void {
    this.#reason ??= reason;
    this.#lostGate.resolve(this.#reason);
  }
}
