import { join } from "node:path";

/** The command that a client runs to start a server. */
export interface ServerEntry {
  command: string;
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
}

/** Endpoint that a client connects to over HTTP, with an API key. */
export interface EndpointEntry {
  url: string;
  key: string;
}

interface McpClientProgram {
  title: string;
  /** Path of its configuration file, below the user's home or configuration folder. */
  file: (place: { home: string; config: string }) => string;
  /** Key of the object that maps server names to servers. */
  key: string;
  entry: (entry: ServerEntry) => object;
  /** Entry of an endpoint; undefined if its file takes only commands. */
  endpoint?: (endpoint: EndpointEntry) => object;
}

const typed = (entry: ServerEntry) => ({ type: "stdio", ...entry });
const headersOf = ({ key }: EndpointEntry) => ({ headers: { "X-API-Key": key } });
const typedEndpoint = (endpoint: EndpointEntry) => ({ type: "http", url: endpoint.url, ...headersOf(endpoint) });

/** Clients that `caisson mcp install` can configure, with their paths on Linux. */
export const mcpClients = {
  "claude-desktop": {
    title: "Claude Desktop",
    file: ({ config }) => join(config, "Claude/claude_desktop_config.json"),
    key: "mcpServers",
    entry: (entry) => ({ ...entry }),
  },
  "claude-code": {
    title: "Claude Code",
    file: ({ home }) => join(home, ".claude.json"),
    key: "mcpServers",
    entry: typed,
    endpoint: typedEndpoint,
  },
  cursor: {
    title: "Cursor",
    file: ({ home }) => join(home, ".cursor/mcp.json"),
    key: "mcpServers",
    entry: (entry) => ({ ...entry }),
    endpoint: (endpoint) => ({ url: endpoint.url, ...headersOf(endpoint) }),
  },
  vscode: {
    title: "VS Code",
    file: ({ config }) => join(config, "Code/User/mcp.json"),
    key: "servers",
    entry: typed,
    endpoint: typedEndpoint,
  },
} as const satisfies Record<string, McpClientProgram>;

/** Entry for clients that have no row above, in the form that most of them read. */
export function genericEndpoint(endpoint: EndpointEntry): object {
  return { url: endpoint.url, transport: "http", ...headersOf(endpoint) };
}

export type McpClientName = keyof typeof mcpClients;

export function isMcpClient(name: string): name is McpClientName {
  return Object.hasOwn(mcpClients, name);
}
