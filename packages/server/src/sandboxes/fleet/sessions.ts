import type { Created } from "../../core/fleet.ts";

/** Creations of sessions under way: whoever asks for the same one meanwhile gets what comes of it (LIF-03). */
export class Sessions {
  readonly #underWay = new Map<string, Promise<Created>>();

  async join(namespace: string, sessionKey: string, make: () => Promise<Created>): Promise<Created> {
    const name = JSON.stringify([namespace, sessionKey]);
    const other = this.#underWay.get(name);
    if (other !== undefined) return { ...(await other), isNew: false };
    const made = make().finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, made);
    return made;
  }
}
