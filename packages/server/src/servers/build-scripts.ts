/** Steps of a build, as programs of its sandbox. Words of a source are their arguments, never part of them. */
import type { Script } from "../core/build-script.ts";

/** Folder of the source: /app of the servers. */
export const app = "/workspace/app";
/** Reports of steps, and files that go before the layer is frozen. */
export const scratch = "/workspace/.build";
export const projectReport = `${scratch}/project.json`;
export const pipReport = `${scratch}/pip.json`;

export const prepare: Script = {
  name: "prepare",
  text: `mkdir -p ${app} ${scratch}/tmp
touch ${scratch}/marker`,
};

/** Name, dependencies and scripts of pyproject.toml. */
export const readProject: Script = {
  name: "detect",
  text: `cd ${app}
python3 -P - <<'END'
import json, tomllib
with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file).get("project", {})
found = {key: project.get(key) for key in ("name", "dependencies")} | {"scripts": list(project.get("scripts", {}))}
with open("${projectReport}", "w") as file:
    json.dump(found, file)
END`,
};

/** Version and scripts of an installed Python package. */
export const readInstalled: Script = {
  name: "detect",
  text: `python=/workspace$(readlink -f "$(command -v python3)")
"$python" -P - "$1" <<'END'
import json, sys
from importlib.metadata import distribution
found = distribution(sys.argv[1])
scripts = [entry.name for entry in found.entry_points if entry.group == "console_scripts"]
with open("${projectReport}", "w") as file:
    json.dump({"name": found.metadata["Name"], "version": found.version, "scripts": scripts}, file)
END`,
};

/**
 * Installs into the tree that grows, by the tree's own Python: it sees what the image has, and replaces it where another
 * version is asked for. Paths of the builder in programs become those of the server.
 */
export const pip: Script = {
  name: "pip",
  text: `cd ${app}
python=$(command -v python3) || { echo "the image has no python3"; exit 1; }
export TMPDIR=${scratch}/tmp
/workspace$(readlink -f "$python") -P -m pip install --no-input --no-cache-dir --no-warn-script-location \\
  --disable-pip-version-check --report ${pipReport} "$@"
cd /workspace
find . \\( -path ./app -o -path ./.build \\) -prune -o -type f -newer ${scratch}/marker \\
  \\( -path '*/bin/*' -o -name '*.pth' -o -name '__editable__*' \\) -print0 |
  { xargs -0 -r grep -lIZ /workspace/ -- || true; } | xargs -0 -r sed -i 's|/workspace/|/|g'`,
};

export const npm: Script = {
  name: "npm",
  text: `cd ${app}
command -v npm >/dev/null || { echo "the image has no npm"; exit 1; }
export TMPDIR=${scratch}/tmp
npm "$@" --omit=dev --cache ${scratch}/npm --no-progress --no-color`,
};

/** Everyone may read the tree: servers run as another user than the one who owns it. */
export const compile: Script = {
  name: "compile",
  text: `cd ${app}
find . -type d ! -perm -555 -exec chmod u+rwx,go+rx {} +
find . -type f ! -perm -444 -exec chmod a+r {} +
find . -type f -perm -100 ! -perm -111 -exec chmod a+x {} +
if command -v python3 >/dev/null; then
  python3 -m compileall -q -s /workspace -p / -x '/node_modules/' ${app} || true
fi`,
};

/** Leaves what a server's root has, with /data where its workspace is. */
export const clean: Script = {
  name: "clean",
  text: `cd /workspace
rm -rf .build .caisson boot dev home lost+found media mnt proc root run sys tmp workspace
find "$HOME" -mindepth 1 -delete || true
if ! [ -L data ]; then
  rmdir data 2>/dev/null || true
  [ -e data ] || ln -s /workspace data
fi`,
};
