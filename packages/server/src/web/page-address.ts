import { AppError } from "../core/errors.ts";
import { dialLimits } from "../webhooks/limits.ts";

/** An address that a page can have; what it is must be known before anybody is asked about it. */
export function readAddress(text: string, base?: URL): URL {
  if (text.length > dialLimits.urlCharacters)
    throw new AppError("invalid", `a URL of more than ${dialLimits.urlCharacters} characters`);
  const url = URL.parse(text, base?.href);
  if (url === null)
    throw new AppError("invalid", `${JSON.stringify(text)} is no URL`, { hint: "https://example.com/page" });
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw new AppError("invalid", `${url.protocol} is not spoken here`, { hint: "use http or https" });
  if (url.username !== "" || url.password !== "")
    throw new AppError("invalid", "a URL with a password in it", { hint: "leave it out" });
  url.hash = "";
  return url;
}

/** Absolute, and of the web; undefined for what is neither. */
export function linkOf(href: string | null, base: string): string | undefined {
  const url = href === null ? null : URL.parse(href, base);
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : undefined;
}
