import { AppError } from "../core/errors.ts";

/** A place that an operator names: `registry.example.com`, `registry.example.com:5000`, `http://127.0.0.1:5000`. */
export interface KnownRegistry {
  scheme: "http" | "https";
  /** With its port. */
  authority: string;
}

export function readRegistry(text: string): KnownRegistry {
  const full = text.includes("://") ? text : `https://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  const scheme = url?.protocol.slice(0, -1);
  if (
    url === undefined ||
    (scheme !== "http" && scheme !== "https") ||
    `${url.pathname}${url.search}${url.hash}${url.username}` !== "/"
  )
    throw new AppError("invalid", `images.registries: ${text} is not a registry`, {
      hint: "registry.example.com, registry.example.com:5000, http://127.0.0.1:5000",
    });
  return { scheme, authority: `${url.hostname}:${url.port || (scheme === "https" ? 443 : 80)}` };
}
