import { namedSchemas } from "../../validation/schemas.ts";
import type { JsonResource } from "./resource.ts";

export const schemas: JsonResource = {
  name: "schemas",
  uri: "sandbox://schemas",
  title: "Schemas",
  description: "The JSON Schemas that validate_json_data accepts by name. They do not change.",
  read: async () => ({ schemas: namedSchemas }),
};
