import { join } from "node:path";

/** The command that a client runs to start a server. */
export interface ServerEntry {
  command: string;
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
}

interface McpClientProgram {
  title: string;
  /** Path of its configuration file, below the user's home or configuration folder. */
  file: (place: { home: string; config: string }) => string;
  /** Key of the object that maps server names to servers. */
  key: string;
  entry: (entry: ServerEntry) => object;
}

const typed = (entry: ServerEntry) => ({ type: "stdio", ...entry });

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
  },
  cursor: {
    title: "Cursor",
    file: ({ home }) => join(home, ".cursor/mcp.json"),
    key: "mcpServers",
    entry: (entry) => ({ ...entry }),
  },
  vscode: {
    title: "VS Code",
    file: ({ config }) => join(config, "Code/User/mcp.json"),
    key: "servers",
    entry: typed,
  },
} as const satisfies Record<string, McpClientProgram>;

export type McpClientName = keyof typeof mcpClients;

export function isMcpClient(name: string): name is McpClientName {
  return Object.hasOwn(mcpClients, name);
}
