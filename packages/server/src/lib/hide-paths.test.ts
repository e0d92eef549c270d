import { expect, it } from "vitest";
import { hidePaths } from "./hide-paths.ts";

it("hides where files of the host lie, and nothing else", () => {
  const hidden = "(a path of the host)";
  const rows: [string, string][] = [
    ["cannot execute /usr/sbin/runc: No such file", `cannot execute ${hidden}: No such file`],
    ["the disk with /var/lib/caisson is full", `the disk with ${hidden} is full`],
    [`open "/proc/7/fd": EACCES, '/a/b/'`, `open "${hidden}": EACCES, '${hidden}'`],
    ["(/srv/x=/srv/y)", `(${hidden}=${hidden})`],
    ["/workspace/output/a.txt is a folder", "/workspace/output/a.txt is a folder"],
    [
      "3/4 of it, and/or application/json at http://localhost/docs",
      "3/4 of it, and/or application/json at http://localhost/docs",
    ],
  ];
  for (const [text, shown] of rows) expect(hidePaths(text)).toBe(shown);
});
