/** The daemon's way to registries of images, for whoever named one. */
import type { ErrandResponse } from "./errand.ts";

export interface RegistryRequest {
  url: URL;
  headers: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

export interface RegistryWay {
  /** Returns a registry's scheme: https, unless an operator has configured http for it. */
  schemeOf(authority: string): "http" | "https";
  /** Redirects are not followed. Rejects with an AppError that says why nothing was asked, or nothing answered. */
  get(request: RegistryRequest): Promise<ErrandResponse>;
}
