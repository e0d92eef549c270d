import { writeFile } from "node:fs/promises";
import { defined } from "../../core/defined.ts";
import { AppError, errnoOf } from "../../core/errors.ts";
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
  summary: "read a web page in a browser, as agents do with browser_fetch",
  usage: "URL",
  words: [1, 1],
  options: {
    "wait-for": { type: "string", value: "SELECTOR", help: "an element to wait for" },
    timeout: { type: "string", value: "SECONDS", help: "for the page to load" },
    format: { type: "string", value: "FORM", help: "markdown, text or html" },
    chars: { type: "string", value: "N", help: "of its text, at most" },
    offset: { type: "string", value: "N", help: "where in the text to begin" },
    screenshot: { type: "boolean", help: "take a picture of it" },
    "full-page": { type: "boolean", help: "of the whole page" },
    output: { type: "string", value: "FILE", help: `for the picture; ${usualFile} unless told, and with --json none` },
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
      ...(image === undefined ? [] : [`its picture: ${file ?? usualFile}`]),
      ...(result.complete ? [] : ["the time was over before it was complete"]),
      ...(result.next_offset === null ? [] : [`it goes on: --offset ${result.next_offset}`]),
      ...result.blocked.map(({ host, port, reason }) => `${host}:${port}: ${reason}`),
    ];
    for (const note of notes) io.stderr.write(`${visible(note)}\n`);
    return tellText(call, result.content);
  },
};

/** Only a file that was named is written over. */
async function keep(file: string | undefined, base64: string): Promise<void> {
  const flag = file === undefined ? "wx" : "w";
  await writeFile(file ?? usualFile, Buffer.from(base64, "base64"), { flag }).catch((error: unknown) => {
    if (errnoOf(error) !== "EEXIST") throw error;
    throw new AppError("conflict", `${usualFile} is there already`, { hint: "--output names another file" });
  });
}
