import { type Diagnostic, PositionEncoding, Workspace } from "@astral-sh/ruff-wasm-nodejs";

/** What CPython itself refuses at compile time, which ruff tells as a rule of its own. */
const compileErrors = ["F404", "F407", "F621", "F622", "F701", "F702", "F704", "F706", "F707", "PLE0115", "PLE0118"];
export const undefinedName = "F821";

/** Syntax is always checked; the Python of Debian 13. */
export const openRuff = () =>
  new Workspace(
    { "target-version": "py313", lint: { select: [...compileErrors, undefinedName] } },
    PositionEncoding.Utf32,
  );

export type Ruff = Workspace;
export type RuffDiagnostic = Diagnostic;
