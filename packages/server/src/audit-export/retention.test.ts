import { describe, expect, it } from "vitest";
import type { Audit } from "../core/audit.ts";
import { AuditRetention } from "./retention.ts";

const clock = { wallMs: () => 100 * 86_400_000, monotonicMs: () => 0 };

describe("retention of the audit log", () => {
  it("[AUD-04] prunes at once what is older than it is kept, and tells what went wrong", async () => {
    const pruned: number[] = [];
    const errors: unknown[] = [];
    const prune = async (beforeMs: (namespace: string) => number) => {
      pruned.push(beforeMs("default"));
      throw new Error("no room");
    };
    const erased: number[] = [];
    const eraseContent = async (beforeMs: number) => erased.push(beforeMs);
    await using retention = new AuditRetention({
      audit: { prune, eraseContent } as Partial<Audit> as Audit,
      days: 7,
      contentDays: 2,
      clock,
      onError: (error) => errors.push(error),
    });
    await retention[Symbol.asyncDispose]();
    expect([pruned, erased]).toEqual([[93 * 86_400_000], [98 * 86_400_000]]);
    expect(errors).toHaveLength(1);
  });
});
