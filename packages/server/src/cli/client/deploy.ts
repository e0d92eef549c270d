import type { DeployedServer, ServerBuildMessage } from "@caisson/sdk";
import { defined } from "../../lib/defined.ts";
import { visible } from "../terminal.ts";
import { sendSource } from "./pack-source.ts";
import { settingOptions, settingsOf } from "./server-options.ts";
import { tellJson, tellLine } from "./tell.ts";
import type { Verb, VerbCall } from "./verb.ts";

const deploy: Verb = {
  summary: "host an MCP server in a sandbox of its own, and print its id and endpoint",
  usage: "SOURCE",
  words: [1, 1],
  about:
    "SOURCE is a folder, a .tar.gz, npm:NAME@VERSION or pypi:NAME@VERSION. Folders and archives have requirements.txt,\n" +
    "pyproject.toml or package.json at their root.\n" +
    "A server of the same name gets a new version, and keeps settings that are not given.\n" +
    "These files of a folder stay on this machine, and their names are printed: .git, installed packages, files with keys\n" +
    "(.env, .npmrc, …), and names in .gitignore, .dockerignore and .caissonignore.",
  options: {
    name: { type: "string", value: "NAME", help: "name of the server (default: that of the folder or package)" },
    ...settingOptions,
    rebuild: { type: "boolean", help: "build again even if nothing changed" },
  },
  run: async (call) => {
    const { caisson, options, io, json, words } = call;
    const request = { ...settingsOf(options), ...(options.flag("rebuild") ? { rebuild: true } : {}) };
    const made = await sendSource(words[0] ?? "", io, (source, usual) =>
      caisson.servers.deploy({ source, ...request, ...defined({ name: options.text("name") ?? usual }) }),
    );
    if ((await followBuild(call, made)) !== 0) return 1;
    const [server, version] = await Promise.all([
      caisson.servers.get(made.server.id),
      caisson.servers.version(made.server.id, made.version.number),
    ]);
    if (version.held && server.config.secrets.length > 0)
      io.stderr.write(
        `caisson: version ${version.number} runs without secrets until an operator confirms it: caisson servers confirm ${server.name} ${version.number}\n`,
      );
    if (json) return tellJson(io, { server, version });
    tellLine(io, server.id);
    return tellLine(io, server.endpoint);
  },
};

/** Prints the build and the check on standard error, until they end. */
async function followBuild({ caisson, io }: VerbCall, { server, version }: DeployedServer): Promise<number> {
  const say = (text: string) => void io.stderr.write(`${visible(text)}\n`);
  for await (const message of caisson.servers.buildLog(server.id, version.number)) {
    if (message.type === "step") say(`==> ${message.step}`);
    else if (message.type === "log") for (const line of message.data.replace(/\n$/, "").split("\n")) say(line);
    else return endOf(message, say, server.name);
  }
  return 1;
}

function endOf(
  { state, error }: Extract<ServerBuildMessage, { type: "end" }>,
  say: (text: string) => void,
  name: string,
): number {
  if (state === "ready") return 0;
  // The error begins with the step that failed.
  for (const line of `caisson: cannot deploy ${name}: ${error ?? state}`.split("\n")) say(line);
  return 1;
}

export const deployVerbs: Record<string, Verb> = { deploy };
