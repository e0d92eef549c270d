import { expect, it } from "vitest";
import { boundedLog } from "./bounded-log.ts";

it("[S112] the log of a build ends at its limit, and says so once", async () => {
  const said: string[] = [];
  const log = boundedLog((text) => void said.push(text), 10);
  for (const text of ["12345", "67890", "more", "more"]) await log.write(text);
  expect(said.join("")).toBe("1234567890\n… what follows is left out\n");
});

it("cuts no character in two where output comes in pieces", async () => {
  const said: string[] = [];
  const log = boundedLog((text) => void said.push(text));
  for (const byte of Buffer.from("a€b")) await log.write(Buffer.from([byte]));
  expect(said.join("")).toBe("a€b");
});
