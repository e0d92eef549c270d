import { z } from "zod";
import { hostLimits } from "../host-access/limits.ts";

/** A field of every tool that reaches files of the host. */
export const hostPath = z
  .string()
  .min(1)
  .max(hostLimits.pathBytes)
  .describe("absolute path on the host, in a folder that list_host_access lists");

export const fileEncoding = z.enum(["utf-8", "base64"]);
