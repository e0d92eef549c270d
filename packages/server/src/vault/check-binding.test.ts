import { expect, it } from "vitest";
import type { SecretTarget } from "../core/secret.ts";
import { isFor } from "./check-binding.ts";

const targets: readonly SecretTarget[] = [
  { sandboxId: "box" },
  { keyId: "key" },
  { all: true },
  { serverId: "server" },
  { serverId: "another" },
];
const allFor = (holder: Parameters<typeof isFor>[1]) => targets.filter((target) => isFor(target, holder));

it("[S121] a hosted server's sandbox gets what is bound to its server, and nothing that is bound otherwise", () => {
  expect(allFor({ id: "box", createdBy: "key", serverId: "server" })).toEqual([{ serverId: "server" }]);
  expect(allFor({ id: "box", createdBy: "key", serverId: "third" })).toEqual([]);
  expect(allFor({ id: "box", createdBy: "key", serverId: null })).toEqual(targets.slice(0, 3));
  expect(allFor({ id: "box", createdBy: "key" })).toEqual(targets.slice(0, 3));
});

it("[S121] a sandbox whose secrets are withheld gets none", () => {
  expect(allFor({ id: "box", createdBy: "key", serverId: "server", withheld: true })).toEqual([]);
});
