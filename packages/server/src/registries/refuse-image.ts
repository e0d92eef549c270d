import { AppError } from "../core/errors.ts";

/** Names in it are hostile. */
export function refuseImage(why: string, code: "invalid" | "unsupported" = "invalid"): AppError {
  return new AppError(code, `the image is refused: ${why.replaceAll(/[^\x20-\x7e]/g, "?")}`);
}

/** Says which layer a refusal is of. */
export function inLayer(error: unknown, layer: number): unknown {
  if (!(error instanceof AppError)) return error;
  const why = error.message.replace(/^the (archive|image) is refused: /, "");
  if (why === error.message) return error;
  return new AppError(error.code, `the image is refused: layer ${layer + 1}: ${why}`, { cause: error });
}
