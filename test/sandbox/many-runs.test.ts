import { describe, expect, it } from "vitest";
import { engines, openTestCaisson } from "../harness.ts";

const callers = 8;
const runsEach = 60;

describe.each(engines)("short runs that begin and end at the same time on %s", (engine) => {
  it("[EXE-01] each have their whole output and end as they would alone", async () => {
    await using test = await openTestCaisson();
    const sandbox = await test.caisson.createSandbox({ engine });
    const wrong: unknown[] = [];
    const caller = async (number: number) => {
      for (let at = 0; at < runsEach; at++) {
        const text = `${number} ${at}`;
        const result = await sandbox.exec({ command: `echo ${text}; echo ${text} >&2`, trackFiles: false });
        const { exit_code, stdout, stderr } = result;
        if (exit_code !== 0 || stdout !== `${text}\n` || stderr !== `${text}\n`) wrong.push(result);
      }
    };
    await Promise.all(Array.from({ length: callers }, (_, number) => caller(number)));
    expect(wrong).toEqual([]);
    await sandbox.destroy();
  });
});
