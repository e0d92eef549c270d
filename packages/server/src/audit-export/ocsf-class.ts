/** Which class of the Open Cybersecurity Schema Framework a type of entry belongs to, and as which activity. */

export const ocsfClasses = {
  "file system activity": { uid: 1001, category: 1, name: "File System Activity", categoryName: "System Activity" },
  "process activity": { uid: 1007, category: 1, name: "Process Activity", categoryName: "System Activity" },
  "detection finding": { uid: 2004, category: 2, name: "Detection Finding", categoryName: "Findings" },
  "account change": {
    uid: 3001,
    category: 3,
    name: "Account Change",
    categoryName: "Identity & Access Management",
  },
  "network activity": { uid: 4001, category: 4, name: "Network Activity", categoryName: "Network Activity" },
  "api activity": { uid: 6003, category: 6, name: "API Activity", categoryName: "Application Activity" },
} as const;
type OcsfClass = keyof typeof ocsfClasses;

/** What happens to files, in class 1001; to processes, in 1007; to accounts, in 3001; to connections, in 4001; through an API, in 6003. */
const create = 1;
const read = 2;
const update = 3;
const remove = 4;
const rename = 5;
const launch = 1;
const terminate = 2;
const disable = 5;
const open = 1;
const fail = 4;
const refuse = 5;
const other = 99;

export interface Placed {
  class: OcsfClass;
  activity: number;
}

const exact: Readonly<Record<string, Placed>> = {
  "file.read": { class: "file system activity", activity: read },
  "file.written": { class: "file system activity", activity: update },
  "file.deleted": { class: "file system activity", activity: remove },
  "file.moved": { class: "file system activity", activity: rename },
  "folder.created": { class: "file system activity", activity: create },
  "archive.unpacked": { class: "file system activity", activity: create },
  "execution.started": { class: "process activity", activity: launch },
  "execution.completed": { class: "process activity", activity: terminate },
  "execution.failed": { class: "process activity", activity: terminate },
  "execution.timeout": { class: "process activity", activity: terminate },
  "execution.denied": { class: "process activity", activity: launch },
  "host.started": { class: "process activity", activity: launch },
  "host.completed": { class: "process activity", activity: terminate },
  "host.failed": { class: "api activity", activity: other },
  "host.denied": { class: "process activity", activity: launch },
  "host.read": { class: "file system activity", activity: read },
  "host.listed": { class: "file system activity", activity: read },
  "host.written": { class: "file system activity", activity: update },
  "process.started": { class: "process activity", activity: launch },
  "process.killed": { class: "process activity", activity: terminate },
  "process.signalled": { class: "process activity", activity: other },
  "process.input": { class: "process activity", activity: other },
  "process.resized": { class: "process activity", activity: other },
  "key.created": { class: "account change", activity: create },
  "key.revoked": { class: "account change", activity: disable },
  "egress.allowed": { class: "network activity", activity: open },
  "egress.denied": { class: "network activity", activity: refuse },
  "egress.failed": { class: "network activity", activity: fail },
  "audit.broken": { class: "detection finding", activity: create },
  "audit.content": { class: "api activity", activity: read },
  "audit.exported": { class: "api activity", activity: read },
  "audit.pruned": { class: "api activity", activity: remove },
};

const byVerb: Readonly<Record<string, number>> = {
  created: create,
  installed: create,
  signed: create,
  accessed: read,
  requested: read,
  changed: update,
  started: update,
  stopped: update,
  paused: update,
  resumed: update,
  reset: update,
  restored: update,
  approved: update,
  put: update,
  bound: update,
  unbound: update,
  rotated: update,
  deleted: remove,
  expired: remove,
  spent: remove,
  destroyed: remove,
};

/** A type that has no place of its own is a call of the API. */
export function placeOf(type: string): Placed {
  const [, verb = ""] = type.split(".");
  return exact[type] ?? { class: "api activity", activity: byVerb[verb] ?? other };
}
