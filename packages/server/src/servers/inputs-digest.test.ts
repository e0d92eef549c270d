import { expect, it } from "vitest";
import type { Registry } from "../core/package.ts";
import { type BuildInputs, inputsDigest } from "./inputs-digest.ts";

const registry: Registry = {
  ...{ variables: { PIP_INDEX_URL: "https://a.example", PIP_PRE: "1" }, hosts: [{ host: "a.example" }] },
  ...{ folders: [], trust: {}, certificates: null, keepsFiles: true, problem: null },
};
const inputs: BuildInputs = {
  ...{ sourceDigest: "00", image: { name: "mcp-runtime", layerId: "a".repeat(16) }, command: null },
  registries: { pip: registry, npm: registry },
};

it("[HOS-01] the same inputs have the same digest, and any other input another", () => {
  const other: BuildInputs[] = [
    { ...inputs, sourceDigest: "01" },
    { ...inputs, image: { name: "mcp-runtime", layerId: "b".repeat(16) } },
    { ...inputs, command: ["python", "x.py"] },
    { ...inputs, registries: { pip: { ...registry, hosts: [{ host: "b.example" }] }, npm: registry } },
    { ...inputs, registries: { pip: registry, npm: { ...registry, variables: { npm_config_registry: "x" } } } },
    { ...inputs, registries: { pip: { ...registry, certificates: "PEM" }, npm: registry } },
  ];
  const digests = [inputs, ...other].map(inputsDigest);
  expect(new Set(digests).size).toBe(digests.length);
  const reordered = { ...registry, variables: { PIP_PRE: "1", PIP_INDEX_URL: "https://a.example" } };
  expect(inputsDigest({ ...inputs, registries: { pip: reordered, npm: registry } })).toBe(digests[0]);
  // An image has other names without another content.
  expect(inputsDigest({ ...inputs, image: { ...inputs.image, name: "alias" } })).toBe(digests[0]);
});
