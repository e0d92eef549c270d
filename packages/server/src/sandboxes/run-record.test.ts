import { describe, expect, it } from "vitest";
import { AppError } from "../core/errors.ts";
import { recordLimits } from "../core/limits.ts";
import type { RunResult } from "../core/run.ts";
import { toRecord } from "./run-record.ts";

const run = { id: "run", sandboxId: "sandbox", startedAtMs: 0, command: "echo", language: null };
const options = { keep: 10, days: 1, outputBytes: 10 };
const change = { path: "a", action: "created", size_bytes: 1, sha256: null } as const;

function result(extra: Partial<RunResult>): RunResult {
  return {
    run_id: "run",
    outcome: "completed",
    exit_code: 0,
    signal: null,
    stdout: "",
    stderr: "",
    duration_ms: 1,
    cpu_ms: 1,
    max_rss: 1,
    timed_out: false,
    cpu_limit: false,
    oom_killed: false,
    ended_by: null,
    refused: [],
    refused_truncated: false,
    warm: false,
    truncated: false,
    files_changed: [],
    files_changed_truncated: false,
    engine: "container",
    enforced: [],
    not_enforced: [],
    ...extra,
  };
}

describe("a run's record", () => {
  it("[EXE-14] is whole where nothing is past a cap", () => {
    const record = toRecord(
      run,
      "container",
      { result: result({ stdout: "0123456789", files_changed: [change] }) },
      options,
    );
    expect(record).toMatchObject({ stdout: "0123456789", truncated: false, files_changed: [change], error: null });
    expect(record.started_at).toBe("1970-01-01T00:00:00.000Z");
  });

  it("[EXE-14] holds capped output, command and files, and says that they are", () => {
    const long = { result: result({ stdout: "0123456789é", stderr: "12345678é9" }) };
    expect(toRecord(run, "container", long, options)).toMatchObject({
      stdout: "0123456789",
      stderr: "12345678é",
      truncated: true,
    });
    const command = "x".repeat(recordLimits.commandBytes + 1);
    const cut = toRecord({ ...run, command }, "container", { result: result({}) }, options);
    expect(cut.command).toHaveLength(recordLimits.commandBytes);
    expect(cut.truncated).toBe(true);
    const files_changed = Array.from({ length: recordLimits.filesChanged + 1 }, () => change);
    const many = toRecord(run, "container", { result: result({ files_changed }) }, options);
    expect(many.files_changed).toHaveLength(recordLimits.filesChanged);
    expect(many.truncated).toBe(true);
  });

  it("[EXE-14] passes every text of the run through the redactor", () => {
    const redact = (text: string) => text.replaceAll("secret", "***");
    const outcome = {
      result: result({ stdout: "a secret", stderr: "secret", files_changed: [{ ...change, path: "secret" }] }),
    };
    const record = toRecord({ ...run, command: "echo secret" }, "container", outcome, { ...options, redact });
    expect(JSON.stringify(record)).not.toContain("secret");
    expect(record).toMatchObject({ stdout: "a ***", stderr: "***", command: "echo ***", truncated: false });
    const failed = { error: new AppError("not_found", "no secret"), stdout: "secret", stderr: "" };
    expect(JSON.stringify(toRecord(run, "container", failed, { ...options, redact }))).not.toContain("secret");
  });

  it("[EXE-14] keeps no text that the redactor could not look through", () => {
    const redact = () => {
      throw new Error("broken");
    };
    const record = toRecord(run, "container", { result: result({ stdout: "secret" }) }, { ...options, redact });
    expect(record).toMatchObject({ stdout: "", command: "", exit_code: 0 });
  });

  it("[EXE-14] of a run without a result says why", () => {
    const failed = { error: new AppError("unavailable", "gone"), stdout: "so far", stderr: "" };
    expect(toRecord(run, "gvisor", failed, options)).toMatchObject({
      exit_code: null,
      stdout: "so far",
      error: { code: "unavailable", message: "gone" },
    });
  });
});
