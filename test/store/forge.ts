import { DatabaseSync } from "node:sqlite";
import { genesisHash, hashRow } from "../../packages/server/src/store/audit/chain.ts";

/** Appends rows to a chain as somebody does who knows its form and not the signing key. */
export function forgeRows(path: string, namespace: string, count = 1, more: { mac?: string; sequence?: number } = {}) {
  const db = new DatabaseSync(path);
  const last = db
    .prepare("select sequence, hash from audit where namespace = ? and sequence <= ? order by sequence desc limit 1")
    .get(namespace, (more.sequence ?? Number.MAX_SAFE_INTEGER) - 1);
  const insert = db.prepare(
    `insert into audit (namespace, sequence, at_ms, type, actor, detail, hash, mac, chain_bytes)
     values (?, ?, ?, 'approval.approved', 'key-1', '{}', ?, ?, 0)`,
  );
  let hash = String(last?.hash ?? genesisHash);
  let sequence = Number(last?.sequence ?? 0);
  db.exec("begin");
  for (let row = 0; row < count; row++) {
    const atMs = Date.now();
    sequence++;
    const names = {
      type: "approval.approved",
      namespace,
      actor: "key-1",
      sandboxId: null,
      requestId: null,
      runId: null,
    };
    hash = hashRow(hash, { ...names, sequence, atMs, detail: "{}" });
    insert.run(namespace, sequence, atMs, hash, more.mac ?? "");
  }
  db.exec("commit");
  db.close();
}
