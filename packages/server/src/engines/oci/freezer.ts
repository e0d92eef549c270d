import type { SandboxCgroup } from "./cgroup.ts";

export type Holder = "caller" | "disk";

/** A sandbox stands still while anyone holds it: a pause outlasts a full disk, and the other way round. */
export class Freezer {
  readonly #cgroup: Pick<SandboxCgroup, "freeze" | "thaw">;
  readonly #holders = new Set<Holder>();

  constructor(cgroup: Pick<SandboxCgroup, "freeze" | "thaw">) {
    this.#cgroup = cgroup;
  }

  get held(): boolean {
    return this.#holders.size > 0;
  }

  async hold(holder: Holder): Promise<void> {
    this.#holders.add(holder);
    await this.#cgroup.freeze();
  }

  async release(holder: Holder): Promise<void> {
    this.#holders.delete(holder);
    if (this.#holders.size === 0) await this.#cgroup.thaw();
  }
}
