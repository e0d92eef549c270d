import type { Caller } from "../../core/principal.ts";
import type { McpParts } from "../server.ts";

/** One who reads, and what is theirs where they name nothing. */
export interface Reading {
  caller: Caller;
  session: string;
  mcp: McpParts;
}

/** Something to read at a fixed address, as JSON. */
export interface JsonResource {
  name: string;
  uri: string;
  title: string;
  description: string;
  read(reading: Reading): Promise<object>;
}
