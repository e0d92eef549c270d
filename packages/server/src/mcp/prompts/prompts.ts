import type { McpServer } from "@modelcontextprotocol/server";
import { diagnoseValidationError } from "./diagnose-validation-error.ts";
import { generateSecureScript } from "./generate-secure-script.ts";

const message = (text: string) => ({ messages: [{ role: "user" as const, content: { type: "text" as const, text } }] });

export function registerPrompts(server: McpServer): void {
  const { name: script, text: scriptText, ...aboutScript } = generateSecureScript;
  server.registerPrompt(script, aboutScript, (given) => message(scriptText(given)));
  const { name: error, text: errorText, ...aboutError } = diagnoseValidationError;
  server.registerPrompt(error, aboutError, (given) => message(errorText(given)));
}
