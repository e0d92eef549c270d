import type { Blobs } from "../core/blob.ts";
import { AppError } from "../core/errors.ts";
import { blockBytes } from "../tar/tar-header.ts";
import { type TarMember, tarEnd, tarHeader, tarPadding } from "../tar/tar-writer.ts";
import { readAhead } from "./read-ahead.ts";

export interface ArchiveMember {
  member: TarMember;
  /** Of a file's bytes. */
  chunks: readonly string[];
}

function* digestsOf(members: readonly ArchiveMember[]): Generator<string> {
  for (const { chunks } of members) yield* chunks;
}

/** A tar archive of members whose bytes lie in the blob store. */
export async function* treeArchive(blobs: Blobs, members: readonly ArchiveMember[]): AsyncGenerator<Buffer> {
  const bytes = readAhead(blobs, digestsOf(members));
  try {
    for (const { member, chunks } of members) {
      yield tarHeader(member);
      let size = 0;
      for (const digest of chunks) {
        const chunk = await bytes.next();
        if (chunk.done) throw new AppError("internal", `the blob ${digest} did not come`);
        size += chunk.value.length;
        yield chunk.value;
      }
      if (size !== (member.size ?? 0)) throw new AppError("internal", "a manifest's sizes do not add up");
      if (size % blockBytes !== 0) yield tarPadding(size);
    }
    yield tarEnd;
  } finally {
    await bytes.return(undefined);
  }
}
