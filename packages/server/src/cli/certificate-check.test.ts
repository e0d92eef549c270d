import { describe, expect, it } from "vitest";
import { certificateCheck } from "./certificate-check.ts";

const nowMs = Date.parse("2026-01-01T00:00:00Z");
const after = (days: number) => new Date(nowMs + days * 86_400_000).toISOString();
const check = (days: number, problem: string | null = null) =>
  certificateCheck({ expiresAt: after(days), problem }, nowMs);

describe("the check of a certificate", () => {
  it("warns from 14 days before it expires, and fails after", () => {
    expect(check(14)).toMatchObject({ state: "ok", detail: "expires at 2026-01-15T00:00:00.000Z, in 14 days" });
    expect(check(13.9)).toMatchObject({ state: "warning", hint: expect.stringContaining("renew it") });
    expect(check(1.5).detail).toMatch(/in 1 day$/);
    expect(check(-1)).toMatchObject({ state: "failed", detail: "expired at 2025-12-31T00:00:00.000Z" });
  });

  it("warns where newer files cannot be used", () => {
    expect(check(100, "key.pem is wrong")).toMatchObject({
      state: "warning",
      detail: expect.stringMatching(/, in 100 days; its files cannot be used: key.pem is wrong$/),
    });
  });
});
