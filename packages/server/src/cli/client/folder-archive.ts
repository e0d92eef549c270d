import { createReadStream } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../core/errors.ts";
import { tarEnd, tarHeader, tarPadding } from "../../tar/tar-writer.ts";

/** A folder's files as a tar archive; what is no file or folder is refused, since it would be missing without a word. */
export async function* folderArchive(folder: string, below = ""): AsyncGenerator<Uint8Array> {
  for (const name of (await readdir(join(folder, below))).sort()) {
    const path = below === "" ? name : `${below}/${name}`;
    const info = await lstat(join(folder, path));
    const bytes = Buffer.from(path).toString("latin1");
    if (info.isDirectory()) {
      yield tarHeader({ type: "directory", path: bytes, mode: 0o755 });
      yield* folderArchive(folder, path);
    } else if (info.isFile()) {
      yield tarHeader({ type: "file", path: bytes, mode: info.mode & 0o111 ? 0o755 : 0o644, size: info.size });
      let sent = 0;
      for await (const piece of createReadStream(join(folder, path), { end: Math.max(0, info.size - 1) })) {
        sent += piece.length;
        yield piece;
      }
      if (sent !== info.size) throw new AppError("conflict", `'${path}' changed while it was read`);
      yield tarPadding(info.size);
    } else throw new AppError("invalid", `'${path}' is neither a file nor a folder`);
  }
  if (below === "") yield tarEnd;
}
