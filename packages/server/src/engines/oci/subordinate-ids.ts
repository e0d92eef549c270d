export interface IdRange {
  start: number;
  count: number;
}

interface Line extends IdRange {
  owner: string;
}

/** Reads `/etc/subuid` or `/etc/subgid`: `owner:start:count`, the owner by name or number. What is not that is no line. */
function parse(text: string): Line[] {
  return text
    .split("\n")
    .map((line) => /^([^:#\s][^:]*):(\d{1,10}):(\d{1,10})\s*$/.exec(line))
    .filter((match) => match !== null)
    .map(([, owner = "", start, count]) => ({ owner, start: Number(start), count: Number(count) }));
}

/** The largest range of a user. */
export function findSubordinateIds(text: string, name: string, uid: number): IdRange | undefined {
  const own = parse(text).filter(({ owner }) => owner === name || owner === String(uid));
  const [largest] = own.sort((left, right) => right.count - left.count);
  return largest === undefined ? undefined : { start: largest.start, count: largest.count };
}

/** The command that gives a user ids which nobody has yet. */
export function suggestSubordinateIds(subuid: string, subgid: string, name: string): string {
  const taken = [...parse(subuid), ...parse(subgid)].map(({ start, count }) => start + count);
  const start = Math.max(100_000, ...taken);
  const range = `${start}-${start + 65_535}`;
  return `usermod --add-subuids ${range} --add-subgids ${range} ${name}`;
}
