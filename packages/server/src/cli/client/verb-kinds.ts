import { tellJson, tellLine, tellTable } from "./tell.ts";
import type { Verb, VerbCall } from "./verb.ts";

/** A verb that is one call of the daemon; with --json it prints what the call returns. */
interface OneCall<T> extends Pick<Verb, "summary" | "options" | "about"> {
  /** Arguments such as `SANDBOX [NAME]`, from which the number of words follows. */
  usage?: string;
  call: (call: VerbCall, ...words: string[]) => Promise<T>;
}

function verbOf<T>({ call: act, usage = "", ...verb }: OneCall<T>, print: (call: VerbCall, found: T) => number): Verb {
  const words = usage.split(" ").filter((word) => word !== "");
  return {
    ...verb,
    usage,
    words: [words.filter((word) => !word.startsWith("[")).length, words.length],
    run: async (call) => {
      const found = await act(call, ...call.words);
      return call.json ? tellJson(call.io, found) : print(call, found);
    },
  };
}

/** A verb that prints a table. */
export function tableVerb<T>({
  headings,
  rows,
  ...verb
}: OneCall<T> & { headings: readonly string[]; rows: (found: T) => readonly (readonly unknown[])[] }): Verb {
  return verbOf(verb, ({ io }, found) => tellTable(io, headings, rows(found)));
}

/** A verb that prints one line. */
export function lineVerb<T>({ line, ...verb }: OneCall<T> & { line: (found: T) => string }): Verb {
  return verbOf(verb, ({ io }, found) => tellLine(io, line(found)));
}

/** A verb that prints nothing on success, or an empty object with --json. */
export function quietVerb(
  summary: string,
  usage: string,
  act: (call: VerbCall, ...words: string[]) => Promise<unknown>,
): Verb {
  const call = async (given: VerbCall, ...words: string[]) => {
    await act(given, ...words);
    return {};
  };
  return verbOf({ summary, usage, call }, () => 0);
}
