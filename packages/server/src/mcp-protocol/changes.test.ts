import { expect, it } from "vitest";
import { Changes } from "./changes.ts";

it("changes reach the listeners of their namespace, and those of the server all of them", () => {
  const changes = new Changes();
  const told: string[] = [];
  changes.as("mine", () => changes.subscribe((event) => void told.push(`mine: ${event.kind}`)));
  const end = changes.as("yours", () => changes.subscribe((event) => void told.push(`yours: ${event.kind}`)));
  changes.tell("mine", { kind: "resource_updated", uri: "caisson://a/b" });
  changes.publish({ kind: "tools_list_changed" });
  end();
  changes.tell("yours", { kind: "resources_list_changed" });
  expect(told).toEqual(["mine: resource_updated", "mine: tools_list_changed", "yours: tools_list_changed"]);
});
