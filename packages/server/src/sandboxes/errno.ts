import { constants } from "node:os";
import { AppError, type ErrorCode } from "../core/errors.ts";
import { topFolders } from "../core/top-folders.ts";

const names = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]));

const meanings: Record<string, { code: ErrorCode; text: string }> = {
  ENOENT: { code: "not_found", text: "no such file or folder" },
  ENOTDIR: { code: "invalid", text: "a part of the path is not a folder" },
  EISDIR: { code: "invalid", text: "it is a folder" },
  ENXIO: { code: "invalid", text: "it is not a regular file" },
  EXDEV: { code: "forbidden", text: `the path leads out of ${topFolders.join(", ")}` },
  ELOOP: { code: "invalid", text: "too many links" },
  EACCES: { code: "forbidden", text: "permission denied" },
  EPERM: { code: "forbidden", text: "operation not permitted" },
  EEXIST: { code: "conflict", text: "it exists already" },
  ENOTEMPTY: { code: "conflict", text: "the folder is not empty" },
  EBUSY: { code: "forbidden", text: "it is a top folder itself, or a mount" },
  EROFS: { code: "forbidden", text: "it is read-only" },
  ENOSPC: { code: "limit_exceeded", text: "the workspace is full" },
  EFBIG: { code: "limit_exceeded", text: "the file would be larger than allowed" },
  ENAMETOOLONG: { code: "invalid", text: "the name or path is too long" },
  EINVAL: { code: "invalid", text: "the name or path is not valid" },
  EOPNOTSUPP: { code: "invalid", text: "source and target are on different file systems: copy it, then remove it" },
  ENOTSUP: { code: "invalid", text: "source and target are on different file systems: copy it, then remove it" },
  ENOEXEC: { code: "invalid", text: "it is not a program this machine can run" },
  E2BIG: { code: "too_large", text: "arguments and environment are too long" },
  EAGAIN: { code: "limit_exceeded", text: "the process limit is reached" },
  EMFILE: { code: "limit_exceeded", text: "too many files are open in the sandbox" },
  ENFILE: { code: "limit_exceeded", text: "too many files are open in the sandbox" },
  ENOMEM: { code: "limit_exceeded", text: "the memory limit is reached" },
};

function errnoName(number: number): string {
  return names.get(number) ?? `errno ${number}`;
}

export function errorOfErrno(number: number, what: string): AppError {
  const name = errnoName(number);
  const meaning = meanings[name] ?? { code: "internal" as const, text: name };
  return new AppError(meaning.code, `${what}: ${meaning.text}`, { details: { errno: name } });
}
