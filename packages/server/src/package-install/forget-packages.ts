import type { Journal } from "../core/journal.ts";
import type { PackageRecords } from "../core/package.ts";

/** What is known of a workspace that is gone or empty goes too, until it is disposed of; at once what is left of others. */
export function forgetPackages(
  journal: Pick<Journal, "read">,
  records: Pick<PackageRecords, "deleteSandbox" | "sandboxes">,
  isThere: (sandboxId: string) => boolean,
  onError: (error: unknown) => void,
): Disposable {
  const reader = journal.read({ types: ["sandbox.destroyed", "sandbox.reset"] });
  const sweep = async () => {
    for (const id of await records.sandboxes()) if (!isThere(id)) await records.deleteSandbox(id);
  };
  const follow = async () => {
    await sweep().catch(onError);
    for await (const event of reader)
      await (event.type === "events.lag" ? sweep() : records.deleteSandbox(event.sandbox_id ?? "")).catch(onError);
  };
  void follow();
  return reader;
}
