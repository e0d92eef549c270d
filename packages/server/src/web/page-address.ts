import { AppError } from "../core/errors.ts";
import { dialLimits } from "../webhooks/limits.ts";

/** An address that a page can have; what it is must be known before anybody is asked about it. */
export function readAddress(text: string, base?: URL): URL {
  if (text.length > dialLimits.urlCharacters)
    throw new AppError("invalid", `the URL is too long (limit: ${dialLimits.urlCharacters} characters)`);
  const url = URL.parse(text, base?.href);
  if (url === null)
    throw new AppError("invalid", `${JSON.stringify(text)} is not a URL`, { hint: "https://example.com/page" });
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw new AppError("invalid", `unsupported protocol ${url.protocol}`, { hint: "use http or https" });
  if (url.username !== "" || url.password !== "")
    throw new AppError("invalid", "the URL contains a password", { hint: "remove it" });
  url.hash = "";
  return url;
}

/** Absolute, and of the web; undefined for what is neither. */
export function linkOf(href: string | null, base: string): string | undefined {
  const url = href === null ? null : URL.parse(href, base);
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : undefined;
}
