import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { storeLimits } from "../../core/store-limits.ts";
import type { Request } from "../sqlite-protocol.ts";
import { intakePathOf } from "./intake-path.ts";
import { IntakeWriter } from "./intake-writer.ts";

let folder: string;
let path: string;
let writer: IntakeWriter;

beforeEach(() => {
  vi.spyOn(performance, "now").mockReturnValue(0); // a busy machine is not a slow disk
  folder = mkdtempSync("/var/tmp/caisson-writer-");
  path = join(folder, "caisson.db");
  writeFileSync(intakePathOf(path), Buffer.alloc(storeLimits.intake.bytes));
  writer = new IntakeWriter(path, { salt: 1, number: 0, offset: 0 });
});
afterEach(() => {
  vi.restoreAllMocks();
  writer.close();
  rmSync(folder, { recursive: true });
});

const numberAt = (offset: number) => readFileSync(intakePathOf(path)).readUIntLE(offset + 12, 6);

const append = (text: string): Request => ({
  op: "append",
  id: 1,
  atMs: 1,
  entry: { type: "t", namespace: "n", actor: "a", sandboxId: null, requestId: null, detail: { text } },
});

it("begins at its start again when all that it holds is on the disk elsewhere, and not when it is in the database alone", () => {
  expect(writer.take([append("one")])).toBe(true);
  expect(numberAt(0)).toBe(1);
  writer.applied(1);
  expect(writer.take([append("two")])).toBe(true);
  expect(numberAt(0)).toBe(1);
  writer.applied(2);
  writer.kept(1);
  expect(writer.take([append("three")])).toBe(true);
  expect(numberAt(0)).toBe(1);
  writer.applied(3);
  writer.kept(3);
  expect(writer.take([append("four")])).toBe(true);
  expect(numberAt(0)).toBe(4);
});

it("takes small requests together, and none that is large among them", () => {
  const { characters, recordCharacters } = storeLimits.intake;
  const half = append("x".repeat(characters / 2));
  const large = append("x".repeat(characters));
  const length = Math.floor(recordCharacters / (JSON.stringify(half).length + 1)) - 1;
  const fitting = Array.from({ length }, () => half);
  expect(fitting.length).toBeGreaterThan(2);
  expect(writer.take([half, large])).toBe(false);
  expect(writer.take([...fitting, half, half])).toBe(false);
  expect(writer.take(fitting)).toBe(true);
  expect(writer.number).toBe(1);
});
