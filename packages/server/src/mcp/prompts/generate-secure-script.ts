import { z } from "zod";

const argsSchema = z.object({
  task: z.string().min(1).max(20_000).describe("task of the script"),
  files: z.string().max(4_000).optional().describe("files of /workspace that the script uses, separated by commas"),
});

/** Asks for a script that the sandbox will run, and says what it will not. */
export const generateSecureScript = {
  name: "generate_secure_script",
  title: "Write a safe script",
  description: "Asks the model for a Python script that stays within the sandbox's limits, ready for execute_code.",
  argsSchema,
  text: ({ task, files }: z.output<typeof argsSchema>) =>
    [
      "Write one Python script for this task:",
      "",
      task,
      "",
      ...(files === undefined ? [] : [`It works on these files of /workspace: ${files}`, ""]),
      "The script must",
      "- use Python's standard library, or name each package that install_package has to install first;",
      "- read and write below /workspace only, and leave what the user should get in /workspace/output;",
      "- open no connection unless the task needs one: the network is closed, and request_egress asks a human to open a name;",
      "- start no other program, change no permission, and use none of eval, exec, compile, __import__, pickle, ctypes or os.system;",
      "- hold no password, key or token: secrets come as environment variables;",
      "- say what is wrong on stderr and exit with a code other than 0 when something fails;",
      "- end by itself: no endless loop, no input from a terminal.",
      "",
      "Check it with validate_code before you run it with execute_code, and mend what is found.",
      "Answer with the script alone, in one block of code.",
    ].join("\n"),
};
