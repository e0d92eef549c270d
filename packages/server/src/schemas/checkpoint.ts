import { z } from "zod";
import type { CheckpointRecord } from "../core/checkpoint.ts";
import { toMb } from "./amount.ts";

export const checkpointId = z.strictObject({
  checkpoint_id: z.string().min(1).max(64).describe("id of the checkpoint"),
});

export const createCheckpoint = z
  .strictObject({ name: z.string().max(200).default("").describe("a name of your choice") })
  .meta({ id: "CreateCheckpoint" });

export const checkpoint = z
  .object({
    id: z.string(),
    sandbox_id: z.string(),
    name: z.string(),
    engine: z.enum(["gvisor", "container"]),
    memory_mb: z.number().describe("size on disk, compressed"),
    created_at: z.iso.datetime(),
    created_by: z.string(),
  })
  .meta({ id: "Checkpoint" });

/** As agents see one, who know sessions. */
export const checkpointForAgents = checkpoint
  .omit({ id: true, created_by: true, memory_mb: true })
  .extend({ checkpoint_id: z.string(), memory_bytes: z.number().int().describe("size on disk, compressed") })
  .meta({ id: "SessionCheckpoint" });

export function showForAgents(record: CheckpointRecord): z.output<typeof checkpointForAgents> {
  const { id: checkpoint_id, created_by: _, memory_mb: __, ...shown } = showCheckpoint(record);
  return { checkpoint_id, ...shown, memory_bytes: record.memoryBytes };
}

export function showCheckpoint(record: CheckpointRecord): z.output<typeof checkpoint> {
  const { id, sandboxId, name, engine, memoryBytes, createdAtMs, createdBy } = record;
  return {
    id,
    sandbox_id: sandboxId,
    name,
    engine,
    memory_mb: toMb(memoryBytes),
    created_at: new Date(createdAtMs).toISOString(),
    created_by: createdBy,
  };
}
