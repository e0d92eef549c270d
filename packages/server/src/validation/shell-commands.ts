import type { Severity } from "../core/validation.ts";
import { optionsOf, type SimpleCommand } from "./shell-words.ts";

export interface Verdict {
  severity: Severity;
  rule: string;
  message: string;
}

const danger = (rule: string, message: string): Verdict => ({ severity: "danger", rule, message });
const warning = (rule: string, message: string): Verdict => ({ severity: "warning", rule, message });

/** All of a file system, of a home, or of a system folder. */
const isWhole = (path: string) =>
  /^\/+(\*|\.{1,2})?$/.test(path) ||
  /^(~|\$HOME|\$\{HOME\})\/?\*?$/.test(path) ||
  /^\/(bin|boot|dev|etc|home|lib|lib64|opt|proc|root|sbin|srv|sys|usr|var)(\/\*?)?$/.test(path);

const isDisk = (path: string) => /^\/dev\/(sd|hd|vd|xvd|nvme|mmcblk|loop|mem|kmem|port|disk)/.test(path);

type Rule = (command: SimpleCommand) => Verdict | undefined;

function removes({ args }: SimpleCommand): Verdict | undefined {
  const { letters, names, operands } = optionsOf(args);
  if (names.has("no-preserve-root")) return danger("delete-root", "rm with --no-preserve-root");
  const isRecursive = letters.has("r") || letters.has("R") || names.has("recursive");
  const target = operands.find(({ value }) => isWhole(value));
  return isRecursive && target !== undefined ? danger("delete-root", `rm of all of ${target.value}`) : undefined;
}

function changesAccess({ name, args }: SimpleCommand): Verdict | undefined {
  const { letters, names, operands } = optionsOf(args);
  const target = operands.slice(1).find(({ value }) => isWhole(value));
  if ((letters.has("R") || names.has("recursive")) && target !== undefined)
    return danger("system-access", `${name} of all of ${target.value}`);
  if (name === "chmod" && /^(0?777|a\+rwx|\+s|[ug]\+s|[2467][0-7]{3})$/.test(operands[0]?.value ?? ""))
    return warning("loose-access", `chmod ${operands[0]?.value} lets in more than is needed`);
  return undefined;
}

function copiesRaw({ args }: SimpleCommand): Verdict | undefined {
  const target = args.find(({ value }) => value.startsWith("of=") && isDisk(value.slice(3)));
  return target === undefined ? undefined : danger("device-write", `dd writes to ${target.value.slice(3)}`);
}

function listens({ name, args }: SimpleCommand): Verdict | undefined {
  const { letters, names } = optionsOf(args);
  const gives = letters.has("e") || letters.has("c") || names.has("exec") || names.has("sh-exec");
  return gives ? danger("reverse-shell", `${name} gives a program to whoever connects`) : undefined;
}

function kills({ args }: SimpleCommand): Verdict | undefined {
  return args.at(-1)?.value === "-1" && args.length > 1 ? danger("system-control", "kill of every process") : undefined;
}

function finds({ args }: SimpleCommand): Verdict | undefined {
  const deletes = args.some(({ value }) => value === "-delete");
  const root = args[0]?.value ?? "";
  return deletes && isWhole(root) ? danger("delete-root", `find deletes all of ${root}`) : undefined;
}

const controls: Rule = ({ name }) => danger("system-control", `${name} changes the machine, not the workspace`);
const formats: Rule = ({ name }) => danger("device-write", `${name} writes over a file system`);
const asRoot: Rule = ({ name }) => warning("privilege", `${name}: nobody becomes root in a sandbox`);

/** Rules by the name of a command. Data. */
const rules = new Map<string, Rule>([
  ["rm", removes],
  ["chmod", changesAccess],
  ["chown", changesAccess],
  ["chgrp", changesAccess],
  ["dd", copiesRaw],
  ["nc", listens],
  ["ncat", listens],
  ["netcat", listens],
  ["kill", kills],
  ["find", finds],
  ["eval", () => danger("dynamic-code", "eval runs code that a reader does not see")],
  ["su", asRoot],
  ["sudo", asRoot],
  ["doas", asRoot],
  ...[
    "shutdown",
    "reboot",
    "halt",
    "poweroff",
    "init",
    "telinit",
    "insmod",
    "modprobe",
    "rmmod",
    "mount",
    "umount",
    "swapoff",
  ].map((name): [string, Rule] => [name, controls]),
  ...[
    "nsenter",
    "unshare",
    "chroot",
    "pivot_root",
    "sysctl",
    "iptables",
    "nft",
    "crontab",
    "systemctl",
    "setcap",
    "kexec",
  ].map((name): [string, Rule] => [name, controls]),
  ...["mkswap", "fdisk", "parted", "wipefs", "shred", "blkdiscard"].map((name): [string, Rule] => [name, formats]),
]);

/** What is wrong with a command by itself. */
export function judgeCommand(command: SimpleCommand): Verdict[] {
  const verdicts: Verdict[] = [];
  const rule = command.name.startsWith("mkfs") ? formats : rules.get(command.name);
  const verdict = rule?.(command);
  if (verdict !== undefined) verdicts.push(verdict);
  if (command.through.some((name) => name === "sudo" || name === "doas"))
    verdicts.push(warning("privilege", "sudo: nobody becomes root in a sandbox"));
  return verdicts;
}

/** What a redirection to there does. */
export function judgeTarget(path: string): Verdict | undefined {
  if (/^\/dev\/(tcp|udp)\//.test(path)) return danger("reverse-shell", `${path} is a connection of bash's own`);
  if (isDisk(path)) return danger("device-write", `writes to ${path}`);
  if (/^\/(etc|boot|proc\/sys|proc\/sysrq-trigger|sys)(\/|$)/.test(path))
    return danger("system-access", `writes to ${path}`);
  return undefined;
}
