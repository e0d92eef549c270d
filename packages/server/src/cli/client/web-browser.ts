import { writeFile } from "node:fs/promises";
import { AppError, errnoOf } from "../../core/errors.ts";
import { defined } from "../../lib/defined.ts";
import { visible } from "../terminal.ts";
import { withImage } from "./first-use.ts";
import { tellJson } from "./tell.ts";
import type { Verb } from "./verb.ts";
import { numberOf, session, tellText } from "./web-options.ts";

interface BrowsedPage {
  content: string;
  next_offset: number | null;
  complete: boolean;
  blocked: { host: string; port: number; reason: string }[];
}

const usualImage = "browser";
const usualFile = "page.png";

export const browser: Verb = {
  summary: "print a web page as a browser shows it (agent tool browser_fetch)",
  usage: "URL",
  words: [1, 1],
  options: {
    "wait-for": { type: "string", value: "SELECTOR", help: "wait for the element of this CSS selector" },
    timeout: { type: "string", value: "SECONDS", help: "limit for loading the page" },
    format: { type: "string", value: "FORM", help: "markdown, text or html" },
    chars: { type: "string", value: "N", help: "maximum number of characters" },
    offset: { type: "string", value: "N", help: "first character to print" },
    screenshot: { type: "boolean", help: "take a screenshot" },
    "full-page": { type: "boolean", help: "take a screenshot of the whole page" },
    output: {
      type: "string",
      value: "FILE",
      help: `file for the screenshot (default: ${usualFile}, or none with --json)`,
    },
    session,
  },
  run: async (call) => {
    const { caisson, words, options, io, json } = call;
    const file = options.text("output");
    const whole = options.flag("full-page");
    const wantsPicture = options.flag("screenshot") || whole || file !== undefined;
    const numbers = {
      timeout_seconds: numberOf(call, "timeout"),
      max_chars: numberOf(call, "chars"),
      offset: numberOf(call, "offset"),
    };
    const given = { wait_for: options.text("wait-for"), format: options.text("format"), ...numbers };
    const picture = { screenshot: wantsPicture, full_page: whole };
    const input = { url: words[0], ...picture, ...defined({ ...given, session_id: options.text("session") }) };
    const { result, content } = await withImage(call, usualImage, () =>
      caisson.tools.call<BrowsedPage>("browser_fetch", input),
    );
    const image = content.find((one) => one.type === "image");
    if (image !== undefined && (file !== undefined || !json)) await keep(file, image.data);
    if (json) return tellJson(io, result);
    const notes = [
      ...(image === undefined ? [] : [`screenshot: ${file ?? usualFile}`]),
      ...(result.complete ? [] : ["timeout: the page is incomplete"]),
      ...(result.next_offset === null ? [] : [`more text follows: --offset ${result.next_offset}`]),
      ...result.blocked.map(({ host, port, reason }) => `${host}:${port}: ${reason}`),
    ];
    for (const note of notes) io.stderr.write(`${visible(note)}\n`);
    return tellText(call, result.content);
  },
};

/** Overwrites only a file that --output names. */
async function keep(file: string | undefined, base64: string): Promise<void> {
  const flag = file === undefined ? "wx" : "w";
  await writeFile(file ?? usualFile, Buffer.from(base64, "base64"), { flag }).catch((error: unknown) => {
    if (errnoOf(error) !== "EEXIST") throw error;
    throw new AppError("conflict", `cannot write ${usualFile}: it already exists`, { hint: "--output FILE" });
  });
}
