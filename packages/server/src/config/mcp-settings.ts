/** Settings of the MCP server. */
export const mcpSettings = {
  "mcp.tools": {
    type: "list",
    default: ["core"],
    env: "CAISSON_MCP_TOOLS",
    help: "tool sets for MCP clients that select none: core, sessions, files, data, web, host, admin, or all",
  },
} as const;
