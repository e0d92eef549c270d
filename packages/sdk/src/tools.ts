import type { Transport } from "./transport.ts";

export type ToolSet = "core" | "sessions" | "files" | "data" | "web" | "host" | "admin";

/** A tool for agents, as a model is told of it. */
export interface ToolInfo {
  name: string;
  title: string;
  description: string;
  sets: ToolSet[];
  /** JSON Schema 2020-12. */
  input_schema: Record<string, unknown>;
  output_schema: Record<string, unknown>;
  annotations: Record<string, boolean>;
}

/** Content of a tool's result: text, an image, a link to a file. */
export type ToolContent =
  | { type: "text"; text: string }
  | { type: "image"; mimeType: string; data: string }
  | { type: "resource_link"; uri: string; name: string; mimeType?: string; size?: number };

export interface ToolOutcome<Result> {
  result: Result;
  content: ToolContent[];
}

export interface ToolOptions {
  /** Ends what the tool started. */
  signal?: AbortSignal;
}

/** The tools that MCP clients have, for programs that speak to a model by themselves. */
export class Tools {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists the tools of one set, or of all. Default: `core`. */
  async list(set?: ToolSet | "all"): Promise<ToolInfo[]> {
    const query = { set };
    return (await this.#transport.json<{ items: ToolInfo[] }>("GET", "/api/v1/tools", { query })).items;
  }

  call<Result = Record<string, unknown>>(
    name: string,
    input: Readonly<Record<string, unknown>> = {},
    { signal }: ToolOptions = {},
  ): Promise<ToolOutcome<Result>> {
    const path = `/api/v1/tools/${encodeURIComponent(name)}`;
    return this.#transport.json("POST", path, { json: input, timeoutMs: null, ...(signal && { signal }) });
  }
}
