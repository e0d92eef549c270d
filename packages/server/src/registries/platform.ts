import type { Descriptor } from "./documents.ts";

export interface Platform {
  os: "linux";
  architecture: string;
  variant?: string;
}

/** Node's names of architectures that images call otherwise. */
const architectures: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386", loong64: "loong64" };

export function platformOf(arch: string): Platform {
  const architecture = architectures[arch] ?? arch;
  return { os: "linux", architecture, ...(architecture === "arm64" ? { variant: "v8" } : {}) };
}

export function fits(wanted: Platform, found: Descriptor["platform"]): boolean {
  if (found === undefined) return true; // its configuration says
  if (found.os !== wanted.os || found.architecture !== wanted.architecture) return false;
  return found.variant === undefined || found.variant === "" || found.variant === (wanted.variant ?? "v1");
}

export function tellPlatform({ os, architecture, variant }: NonNullable<Descriptor["platform"]>): string {
  return `${os}/${architecture}${variant ? `/${variant}` : ""}`;
}
