import { Turn } from "../lib/turn.ts";
import { serverLimits } from "./limits.ts";
import type { RunningSandbox, SandboxTerms, SandboxUse, ServerOwner, ServerSandboxes } from "./server-sandboxes.ts";

export interface HomeParts {
  server: ServerOwner;
  sandboxes: ServerSandboxes;
  use: SandboxUse;
  /** Returns the version and the settings of now, for the next start. */
  terms: () => SandboxTerms & { secrets: boolean };
}

/** The sandbox that holds /data: its only writer. It is made by the first program, and stopped with the last. */
export class Home {
  readonly #parts: HomeParts;
  readonly #turn = new Turn();
  #id: string | undefined;
  #running: RunningSandbox | undefined;
  #users = 0;

  constructor(parts: HomeParts, id?: string) {
    this.#parts = parts;
    this.#id = id;
  }

  get id(): string | undefined {
    return this.#id;
  }

  get running(): RunningSandbox | undefined {
    return this.#running;
  }

  /** Starts it unless it runs. Whoever enters leaves, also after a loss. */
  enter(): Promise<RunningSandbox> {
    return this.#turn.take(async () => {
      const sandbox = this.#running ?? (await this.#start());
      this.#users += 1;
      return sandbox;
    });
  }

  leave(): Promise<void> {
    return this.#turn.take(async () => {
      this.#users -= 1;
      if (this.#users === 0) await this.#stop();
    });
  }

  /** Snapshots /data while nothing runs; undefined where nothing was ever written. */
  save(description: string): Promise<string | undefined> {
    const { sandboxes, server } = this.#parts;
    return this.#quietly(async (id) => sandboxes.save(server, id, description));
  }

  async restore(snapshotId: string): Promise<void> {
    const { sandboxes, server } = this.#parts;
    await this.#quietly((id) => sandboxes.restore(server, id, snapshotId));
  }

  #quietly<T>(act: (id: string) => Promise<T>): Promise<T | undefined> {
    return this.#turn.take(async () => {
      if (this.#id === undefined) return undefined;
      try {
        return await act(this.#id);
      } finally {
        if (this.#users === 0) await this.#parts.sandboxes.stop(this.#parts.server, this.#id);
      }
    });
  }

  async #start(): Promise<RunningSandbox> {
    const { server, sandboxes, use, terms: termsNow } = this.#parts;
    const terms = shareOf(use, termsNow());
    this.#id ??= await sandboxes.create(server, use, terms, null);
    const sandbox = await sandboxes.start(server, this.#id, terms);
    this.#running = sandbox;
    void sandbox.lost.then(() => {
      if (this.#running === sandbox) this.#running = undefined;
    });
    return sandbox;
  }

  async #stop(): Promise<void> {
    this.#running = undefined;
    if (this.#id !== undefined) await this.#parts.sandboxes.stop(this.#parts.server, this.#id);
  }
}

/** The storage of a server over stdio is shared by as many people as it has instances. */
function shareOf<T extends SandboxTerms>({ use }: SandboxUse, terms: T): T {
  return use === "person" ? { ...terms, limits: withShare(terms.limits) } : terms;
}

/** Limits of a sandbox that holds a part of the server's data, or none. */
export function withShare({ storageBytes, ...limits }: SandboxTerms["limits"]): SandboxTerms["limits"] {
  const { default: usual } = serverLimits.storageBytes;
  return { ...limits, storageBytes: Math.floor((storageBytes ?? usual) / serverLimits.instances) };
}
