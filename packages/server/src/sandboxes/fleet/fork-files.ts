import type { LayerId } from "../../core/layer.ts";
import type { Caller } from "../../core/principal.ts";
import type { SandboxRecord } from "../../core/sandbox-record.ts";
import { defined } from "../../lib/defined.ts";
import { makeAll } from "../fork.ts";
import type { Sandbox } from "../sandbox.ts";
import type { CreationParts } from "./creation.ts";
import { type Member, rootOf } from "./member.ts";
import { refusalOf } from "./why-not-lent.ts";

interface Copied {
  copies: Sandbox[];
  files: "overlay" | "copy";
}

/** New sandboxes that lie on the files of the original, home folder included. A sentence: why they cannot. */
export async function forkFiles(
  parts: CreationParts,
  caller: Caller,
  original: Member,
  count: number,
): Promise<Copied | string> {
  const make = async (layerId: LayerId, files: Copied["files"]) => ({
    copies: await makeAll(count, () => createOn(parts, original.record, layerId)),
    files,
  });
  return parts.queue
    .with({ caller, kind: "fork", sandboxId: original.record.id }, () => parts.lifecycle.lend(original, caller, make))
    .catch(refusalOf);
}

function createOn(
  { maker, starts }: CreationParts,
  { engine, limits, outputFolder, ...record }: SandboxRecord,
  base: LayerId,
): Promise<Sandbox> {
  const options = { engine, limits, warm: "first-use", keep: true, fleet: true, base, ...rootOf(record) } as const;
  const folder = defined({ outputFolder: outputFolder ?? undefined });
  return starts.with(() => maker.createSandbox({ ...options, ...folder }));
}
