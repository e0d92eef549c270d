/** Of the agents' door. */
export const mcpSettings = {
  "mcp.tools": {
    type: "list",
    default: ["core"],
    env: "CAISSON_MCP_TOOLS",
    help: "sets of tools that MCP clients have who name none: core, sessions, files, data, web, host, admin, or all",
  },
} as const;
