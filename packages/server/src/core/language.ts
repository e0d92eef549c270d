export const languages = ["python", "node", "shell"] as const;
export type Language = (typeof languages)[number];

const extensions: Record<string, Language> = {
  ".py": "python",
  ".js": "node",
  ".mjs": "node",
  ".cjs": "node",
  ".sh": "shell",
  ".bash": "shell",
};

export function languageOf(fileName: string): Language | undefined {
  return extensions[/\.[^./]+$/.exec(fileName)?.[0].toLowerCase() ?? ""];
}

export const interpreters: Record<Language, { program: string; inline: string; extension: string }> = {
  python: { program: "python3", inline: "-c", extension: ".py" },
  node: { program: "node", inline: "-e", extension: ".cjs" },
  shell: { program: "bash", inline: "-c", extension: ".sh" },
};
