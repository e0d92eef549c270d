import { z } from "zod";
import type { FileInfo } from "../core/file.ts";

export const fileInfo = z
  .object({
    name: z.string(),
    type: z.enum(["file", "directory", "link", "other"]),
    size: z.number(),
    mode: z.string().describe("permission bits, in octal"),
    modified_at: z.iso.datetime(),
    target: z.string().optional().describe("target of a link"),
  })
  .meta({ id: "FileInfo" });

const leastMs = Date.parse("0001-01-01T00:00:00.000Z");
const mostMs = Date.parse("9999-12-31T23:59:59.999Z");

/** A sandbox sets times as it likes; past years of four digits they are cut. */
function time(ms: number): string {
  return new Date(Math.min(Math.max(ms, leastMs), mostMs)).toISOString();
}

export function showFileInfo({ name, type, size, mode, mtimeMs, target }: FileInfo): z.output<typeof fileInfo> {
  return {
    name,
    type,
    size,
    mode: (mode & 0o7777).toString(8).padStart(4, "0"),
    modified_at: time(mtimeMs),
    ...(target === undefined ? {} : { target }),
  };
}

export const searchMatch = z
  .object({
    path: z.string(),
    type: z.enum(["file", "directory", "link", "other"]),
    line: z.number().optional(),
    column: z.number().optional(),
    text: z.string().optional(),
  })
  .meta({ id: "SearchMatch" });
