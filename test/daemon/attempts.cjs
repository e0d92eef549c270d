// Tried with the daemon's rights, in the daemon's view: says of each attempt how it failed, or "done".
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const net = require("node:net");

const { id, home, pids, sandboxPid, cgroup } = JSON.parse(process.argv[1]);
const view = "/run/caisson/home";
const sandbox = `${view}/engine/sandboxes/${id}`;
const mount = (...words) => execFileSync("/bin/mount", words, { stdio: "ignore" });
const write = (path) => fs.writeFileSync(path, "x");

const attempts = {
  "read the image of a workspace": () => fs.openSync(`${sandbox}/workspace.img`, "r"),
  "write the image of a workspace": () => fs.openSync(`${sandbox}/workspace.img`, "r+"),
  "list a workspace through a process": () => fs.readdirSync(`/proc/${sandboxPid}/root/workspace`),
  "read a process's memory": () => fs.openSync(`/proc/${sandboxPid}/mem`, "r"),
  "list a sandbox's folder": () => fs.readdirSync(sandbox),
  "list the sandboxes": () => fs.readdirSync(`${view}/engine/sandboxes`),
  "read a sandbox's record": () => fs.readFileSync(`${sandbox}/record.json`),
  "change a sandbox's bundle": () => write(`${sandbox}/bundle/config.json`),
  "rename a sandbox": () => fs.renameSync(sandbox, `${view}/engine/sandboxes/${"b".repeat(16)}`),
  "replace a FIFO": () => fs.renameSync(`${sandbox}/wire/to-guest`, `${sandbox}/wire/other`),
  "remove a FIFO": () => fs.unlinkSync(`${sandbox}/wire/from-guest`),
  "replace its owner's folder": () => fs.renameSync(`${sandbox}/owner`, `${sandbox}/other`),
  "make something in the engine's folder": () => fs.mkdirSync(`${view}/engine/x`),
  "make something in the engine's folder itself": () => fs.mkdirSync(`${home}/engine/x`),
  "change code": () => write(`${view}/app/x`),
  "change code where it lies": () => write(`${home}/app/x`),
  "replace the engine's socket": () => fs.unlinkSync(`${view}/run/engine/socket`),
  "replace the engine's socket where it lies": () => fs.unlinkSync(`${home}/run/engine/socket`),
  "list the data folder": () => fs.readdirSync(home),
  "read the administrator's key of its user": () => fs.readFileSync(`${home}/admin-key`),
  "mount something": () => mount("-t", "tmpfs", "none", "/mnt"),
  "open its view for writing": () => mount("-o", "remount,rw,bind", `${view}/app`),
  "become root": () => process.setuid(0),
  "take a group": () => process.setgroups([0]),
  "change a limit": () => write(`${cgroup}/cgroup.procs`),
  ...Object.fromEntries(pids.map(([what, pid]) => [`signal ${what}`, () => process.kill(pid, 0)])),
};
const twins = {
  "write in its own folder": () => write(`${view}/daemon/attempt`),
  "write in its part of a sandbox": () => write(`${sandbox}/owner/attempt`),
  "open a sandbox's wire": () =>
    fs.openSync(`${sandbox}/wire/from-guest`, fs.constants.O_RDWR | fs.constants.O_NONBLOCK),
  "signal itself": () => process.kill(process.pid, 0),
};

function outcomes(table) {
  return Object.fromEntries(
    Object.entries(table).map(([what, attempt]) => {
      try {
        attempt();
        return [what, "done"];
      } catch (error) {
        return [what, error.code ?? `status ${error.status}`];
      }
    }),
  );
}

function dial(path) {
  return new Promise((resolve) => {
    const socket = net.connect(path);
    socket.on("error", (error) => resolve(error.code));
    socket.on("connect", () => {
      socket.destroy();
      resolve("done");
    });
  });
}

(async () => {
  const refused = { ...outcomes(attempts), "ask who keeps it alive": await dial(`${home}/run/control`) };
  const allowed = { ...outcomes(twins), "reach the engine": await dial(`${view}/run/engine/socket`) };
  console.log(JSON.stringify({ refused, allowed }));
})();
