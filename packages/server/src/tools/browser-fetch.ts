import { z } from "zod";
import { AppError } from "../core/errors.ts";
import { webLimits } from "../core/web-limits.ts";
import { dialLimits } from "../core/webhook-limits.ts";
import { sessionId } from "./session.ts";
import { defineTool } from "./tool.ts";

/** Listed before it can be had, so that a client that knows it hears why, and what to use instead. */
export const browserFetch = defineTool({
  name: "browser_fetch",
  title: "Read a web page in a browser",
  sets: ["web"],
  permission: "use",
  description: [
    "Opens a web page in a browser that runs its JavaScript, in the sandbox, and returns its text.",
    "It needs the browser image, which is not installed here: until it is, every call is refused, and fetch_webpage reads pages without JavaScript.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({
    url: z.string().min(1).max(dialLimits.urlCharacters).describe("http or https"),
    wait_for: z.string().max(webLimits.queryCharacters).optional().describe("a CSS selector to wait for"),
    screenshot: z.boolean().default(false),
    session_id: sessionId,
  }),
  output: z.object({ url: z.string(), title: z.string().nullable(), content: z.string() }),
  run: async () => {
    throw new AppError("unsupported", "browser_fetch needs the browser image, which is not installed", {
      hint: "read the page with fetch_webpage, which runs no JavaScript",
      details: { needs: "browser image" },
    });
  },
});
