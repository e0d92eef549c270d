import { describe, expect, it } from "vitest";
import { AppError } from "../core/errors.ts";
import { report, toProblem } from "./problem.ts";

const errorOf = (fields: object) => Object.assign(new Error("told inside"), fields);
const early = errorOf({ code: "ERR_STREAM_PREMATURE_CLOSE" });
const name = 'GET /api/v1/sandboxes/:id/files/*, id "abcd", req_1';

/** The problem, and what the log has of it. */
function seen(error: unknown, gone = false) {
  const logged: unknown[] = [];
  const told = report(error, (inside) => void logged.push(inside), { name, gone });
  return { status: toProblem(told, "req_1").status, code: told.code, message: told.message, logged };
}

describe("an error of the HTTP library", () => {
  it.each([
    [{ code: "FST_ERR_CTP_INVALID_MEDIA_TYPE", statusCode: 415 }, 415, "unsupported"],
    [{ code: "FST_ERR_CTP_EMPTY_TYPE", statusCode: 415 }, 415, "unsupported"],
    [{ code: "FST_ERR_QUERY_NO_TYPE", statusCode: 400 }, 400, "invalid"],
    [{ code: "FST_ERR_CTP_BODY_TOO_LARGE", statusCode: 413 }, 413, "too_large"],
    [{ code: "FST_ERR_NOT_FOUND", statusCode: 404 }, 404, "not_found"],
    [{ code: "HPE_INVALID_CHUNK_SIZE" }, 400, "invalid"],
  ])("that refuses a request is told with its status, and is not logged: %j", (fields, status, code) => {
    expect(seen(errorOf(fields))).toMatchObject({ status, code, logged: [] });
  });

  it.each([[early], [errorOf({ code: "ECONNRESET" })], [new DOMException("aborted", "AbortError")]])(
    "that comes of a client which went away is not logged: %s",
    (error) => {
      expect(seen(error, true)).toMatchObject({
        code: "timeout",
        message: "the client closed the connection",
        logged: [],
      });
    },
  );

  it("that comes of anything else is logged with its request and sandbox, and its place in the code", () => {
    const { status, message, logged } = seen(early);
    expect([status, message]).toEqual([500, expect.not.stringContaining("told inside")]);
    expect(logged).toMatchObject([{ message: `${name}: told inside`, cause: early }]);
    expect((logged[0] as Error).stack).toMatch(/^GET \/api.*: Error: told inside\n +at /);
    const hidden = new AppError("unavailable", "no /var/lib/thing/deep here");
    expect(seen(hidden).logged).toMatchObject([{ code: "unavailable", message: `${name}: ${hidden.message}` }]);
  });
});
