import { AppError } from "../core/errors.ts";
import type { SecretRecords } from "../core/secret-record.ts";
import { rewrap } from "./envelope.ts";
import type { KeyRing } from "./key-ring.ts";
import { secretLimits } from "./limits.ts";

/** Wraps with the first key what others wrap; says how many. What was put or rotated meanwhile is left as it is. */
export async function rewrapAll(ring: KeyRing, records: SecretRecords): Promise<number> {
  const to = ring.primary;
  for (let done = 0; ; ) {
    const some = await records.wrappedOtherwise(to.id, secretLimits.rewrapAtOnce);
    if (some.length === 0) return done;
    const wrapped = some.map((record) => {
      const from = ring.find(record.keyId);
      if (from === undefined) throw new AppError("internal", `no master key ${record.keyId} for ${record.name}`);
      return records.rewrap(record, rewrap(from, to, record, record.wrappedKey));
    });
    done += (await Promise.all(wrapped)).filter((isDone) => isDone).length;
  }
}
