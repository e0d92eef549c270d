import type { LayerId } from "../../packages/server/src/core/layer.ts";
import type { LayerBuilder } from "../../packages/server/src/core/layer-builder.ts";

/** Copies this machine's Python, with what it loads, into a tree that can be a root: /data is the workspace, /app the code. */
const script = `
cd /workspace
mkdir -p usr/bin usr/lib usr/lib64 etc app
for name in bin lib lib64; do ln -s "usr/$name" "$name"; done
ln -s /workspace data
python=$(readlink -f /usr/bin/python3)
version=$(basename "$python")
cp "$python" usr/bin/
ln -s "$version" usr/bin/python3
ln -s "$version" usr/bin/python
for name in dash cat sleep; do cp -L "/usr/bin/$name" usr/bin/; done
ln -s dash usr/bin/sh
mkdir "usr/lib/$version"
tar -C "/usr/lib/$version" --exclude=test --exclude=idlelib --exclude=ensurepip --exclude=tkinter --exclude='config-*' -cf - . | tar -C "usr/lib/$version" -xf -
ldd "$python" /usr/bin/dash /usr/bin/cat "/usr/lib/$version"/lib-dynload/*.so | grep -o '/[^ ]*\\.so[^ ]*' | sort -u | while read -r path; do
  case $path in */lib-dynload/*) continue ;; esac
  mkdir -p "usr/\${path#/}.d"
  rmdir "usr/\${path#/}.d"
  cp -L "$path" "usr/\${path#/}"
done
`;

/** A layer with Python and these files in /app. */
export async function buildPythonRoot(
  layers: Pick<LayerBuilder, "build">,
  files: Readonly<Record<string, string>>,
): Promise<LayerId> {
  const log = { write: async () => undefined };
  const progress = { log, signal: AbortSignal.timeout(60_000), begin: async () => undefined };
  const { id } = await layers.build({ root: null }, async (builder) => {
    await builder.run({ name: "python", text: script }, progress);
    for (const [name, text] of Object.entries(files)) await builder.files.write(`app/${name}`, text);
  });
  return id;
}
