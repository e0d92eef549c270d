import type { AllowRule } from "../../packages/server/src/core/egress.ts";

/** Rules for hosts of tests, which are on loopback. */
const ranges = ["127.0.0.0/8"];

export const http = (host: string, port = 80): AllowRule => ({ host, port, protocol: "http", ranges });
export const tls = (host: string, port = 443): AllowRule => ({ host, port, protocol: "tls", ranges });
export const tcp = (host: string, port: number): AllowRule => ({ host, port, protocol: "tcp", ranges });

export const names = {
  "allowed.example": "127.0.0.1",
  "www.allowed.example": "127.0.0.1",
  "other.example": "127.0.0.1",
};
