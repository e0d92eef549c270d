import { AppError } from "../../core/errors.ts";
import type { Created } from "../../core/fleet.ts";
import type { Caller } from "../../core/principal.ts";

interface UnderWay {
  caller: Caller;
  made: Promise<Created>;
}

/** Creations of sessions under way: whoever asks for the same one meanwhile gets what comes of it (LIF-03). */
export class Sessions {
  readonly #underWay = new Map<string, UnderWay>();

  async join(caller: Caller, sessionKey: string, make: () => Promise<Created>): Promise<Created> {
    const name = JSON.stringify([caller.principal.namespace, sessionKey]);
    for (let other = this.#underWay.get(name); other !== undefined; other = this.#underWay.get(name)) {
      try {
        return { ...(await other.made), isNew: false };
      } catch (error) {
        if (!other.caller.gone?.aborted) throw error; // else it was given up for one who is not there any more
      }
    }
    const made = make().finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, { caller, made });
    return made;
  }
}

/** False when the sandbox is destroyed, now or while it was waited for. */
export async function isThere(woken: Promise<unknown>): Promise<boolean> {
  try {
    await woken;
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") return false;
    throw error;
  }
}
