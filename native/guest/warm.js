// A Node that has started ahead of its run (warm.c starts it, and passes this text to `node -e`). It waits, as root of the
// sandbox and with nothing of anybody's loaded, for its one run; becomes what start.c makes of a plain start; and runs the
// code as `node -e` does. What would make a plain start differ (a module in the code, a variable that Node or libc reads as
// it starts) makes it become a plain start: exec.
{
  const channel = 3;
  const user = 1000;
  const early = /^(NODE|LC_|LANG|LD_|TZ|UV_|SSL_|OPENSSL|MALLOC_|GLIBC_|ICU_|V8_|FORCE_COLOR|NO_COLOR|TERM|PATH$)/;
  const fs = require("node:fs");
  const vm = require("node:vm");
  const { LD_PRELOAD: own, ...here } = process.env;
  const earlyOf = (variables) =>
    JSON.stringify(
      Object.entries(variables)
        .filter(([name]) => early.test(name))
        .sort(),
    );

  const compile = (code) => {
    if (/\bimport\b/.test(code)) return undefined;
    try {
      return new vm.Script(code, { filename: "[eval]" });
    } catch {
      return undefined; // a module, types, or an error that a plain start words better
    }
  };

  const native = { exports: {} };
  process.dlopen(native, own);
  const { beVisible, execute } = native.exports;
  compile("1").runInThisContext();
  fs.writeSync(channel, "R");
  const message = Buffer.allocUnsafe(1 << 18);
  const size = fs.readSync(channel, message);
  if (size === 0) process.exit(0);
  const [numbers, folder, code, ...rest] = message.toString("utf8", 0, size).split("\0");
  const [slot, group, , , , count] = numbers.split(" ").map(Number);
  const words = rest.slice(0, count);
  const variables = Object.fromEntries(
    rest.slice(count).map((variable) => {
      const at = variable.indexOf("=");
      return [variable.slice(0, at), variable.slice(at + 1)];
    }),
  );
  try {
    process.setgroups([group]);
    process.setgid(user);
    process.seteuid(user); // the user's rights to look for the folder; still nobody whom user code may touch
    process.chdir(folder);
    process.seteuid(0);
  } catch (error) {
    fs.writeSync(channel, `F${slot} ${require("node:os").constants.errno[error.code] ?? 5}`);
    process.reallyExit(127);
  }
  fs.closeSync(channel);
  process.setuid(user);
  if (beVisible() !== 0) process.reallyExit(127);
  const script = earlyOf(variables) === earlyOf(here) ? compile(code) : undefined;
  if (script === undefined) {
    const told = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
    execute(process.execPath, ["node", "-e", code, ...words], told);
    process.reallyExit(127);
  }
  for (const name of Object.keys(process.env)) if (!(name in variables)) delete process.env[name];
  Object.assign(process.env, variables);
  process.argv.splice(1, Infinity, ...words);
  process.execArgv = ["-e", code];
  Object.defineProperty(process, "_eval", { value: code });
  module.filename = require("node:path").join(process.cwd(), "[eval]");
  module.paths = require("node:module")._nodeModulePaths(process.cwd());
  script.runInThisContext();
}
