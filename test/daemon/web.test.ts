import { describe, expect, it } from "vitest";
import { webHost } from "../egress/hosts.ts";
import { engines } from "../harness.ts";
import { resultPages } from "../web/result-pages.ts";
import { caisson, Up, upTimeoutMs } from "./up.ts";

describe("the web, through a daemon of its own user", () => {
  it(
    "[WEB-01] [WEB-02] is read and searched as configured, and nothing else of it",
    async () => {
      await using host = await webHost({
        answer: ({ url = "" }, response) => {
          const isSearch = url.startsWith("/search");
          response.setHeader("content-type", isSearch ? "application/json" : "text/html");
          response.end(isSearch ? resultPages.searxng.results : "<title>T</title><p>Some <b>text</b>.</p>");
        },
      });
      const place = `127.0.0.1:${host.port}`;
      const variables = { CAISSON_ALLOWED_DOMAINS: place, CAISSON_WEB_SEARCH: `searxng=http://${place}` };
      await using up = await Up.start({ variables });
      const id = await up.create(engines[0] ?? "container");
      const web = (...words: string[]) => caisson(["web", ...words, "--session", id], up.variables);
      expect(await web("fetch", `http://${place}/`)).toEqual({ code: 0, stdout: "Some **text**.\n", stderr: "" });
      const found = await web("search", "some words");
      expect(found).toMatchObject({ code: 0, stderr: "" });
      expect(found.stdout).toContain("First & best\n  https://one.example/a?b=c\n  What it is about.\n");
      const refused = await web("fetch", "http://other.example/");
      expect(refused).toMatchObject({ stdout: "" });
      expect(refused.code).not.toBe(0);
      expect(refused.stderr).toContain("other.example:80 is not allowed");
      await up.delete(`/api/v1/sandboxes/${id}`);
    },
    upTimeoutMs,
  );

  it(
    "does not start with a search provider that is none",
    async () => {
      const home = { CAISSON_HOME: "/nonexistent/caisson-test" };
      const { code, stderr } = await caisson(["up"], { ...home, CAISSON_WEB_SEARCH: "gogle" });
      expect(code).not.toBe(0);
      expect(stderr).toContain('unknown search provider "gogle"');
    },
    upTimeoutMs,
  );
});
