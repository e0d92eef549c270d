import type { Migration } from "../migrate.ts";

export const outputFolders: Migration = {
  number: 4,
  name: "output folders",
  statements: ["alter table sandboxes add column output_folder text"],
};
