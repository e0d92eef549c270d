import { inflate } from "../tar/inflate.ts";
import { TarReader } from "../tar/tar-reader.ts";
import { insideSteps } from "./inside-steps.ts";
import { ociLimits } from "./limits.ts";
import { refuseImage } from "./refuse-image.ts";
import type { StagedFile, Staging } from "./staging.ts";
import { quoted } from "./text.ts";

/** What an archive that holds an image is made of, by name. Nothing lies under a name of its own. */
export class ArchiveMembers {
  readonly #members = new Map<string, StagedFile | { target: string }>();

  static async read(staging: Staging, archive: AsyncIterable<Uint8Array>): Promise<ArchiveMembers> {
    const { ratio, blobBytes: bytes, members } = ociLimits;
    const reader = new TarReader(inflate(archive, { ratio, bytes, zstd: true }), { depth: 16 });
    const read = new ArchiveMembers();
    try {
      for (let count = 0; ; count++) {
        const entry = await reader.next();
        if (entry === undefined) return read;
        if (count === members) throw refuseImage(`the archive has more than ${members} entries`);
        const { type, path, target } = entry;
        if (type === "directory") continue;
        if (read.#members.has(path)) throw refuseImage(`${quoted(path)} is in the archive twice`);
        if (type === "link")
          read.#members.set(path, { target: (insideSteps(path.split("/").slice(0, -1), target) ?? []).join("/") });
        else if (type === "hard-link") read.#members.set(path, { target });
        else read.#members.set(path, await staging.store(pieces(reader), bytes));
      }
    } finally {
      await reader.close();
    }
  }

  get(name: string): StagedFile | undefined {
    let found = this.#members.get(name);
    for (let hops = 0; found !== undefined && "target" in found && hops < 8; hops++)
      found = this.#members.get(found.target);
    return found !== undefined && "path" in found ? found : undefined;
  }

  require(name: string): StagedFile {
    const found = this.get(name);
    if (found === undefined) throw refuseImage(`the archive has no ${quoted(name)}`);
    return found;
  }
}

async function* pieces(reader: TarReader): AsyncGenerator<Uint8Array> {
  for (let piece = await reader.read(); piece !== undefined; piece = await reader.read()) yield piece;
}
