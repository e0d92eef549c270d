import type { Script } from "../core/build-script.ts";
import type { ImageSpec } from "../core/image-spec.ts";
import { clean } from "./debian-steps.ts";

const tree = "/workspace";

/** The builder's root once more, to be added to: what a builder has of its own is left out. */
export const copy: Script = {
  name: "copy",
  text: `cd /
for name in *; do
  case $name in proc | dev | sys | run | tmp | home | root | workspace) continue ;; esac
  cp -a "$name" ${tree}/
done
rm -rf ${tree}/opt/caisson`,
};

/** What scripts of packages would do that others rely on. The programs are the tree's own. */
const settle: Script = {
  name: "debian: settle",
  text: `cd ${tree}
if [ -x /usr/sbin/ldconfig ]; then /usr/sbin/ldconfig -X -C ${tree}/etc/ld.so.cache; fi
ln -sf /usr/share/zoneinfo/Etc/UTC etc/localtime
printf '/bin/sh\\n/bin/bash\\n' >etc/shells
if [ -x /usr/sbin/update-ca-certificates ]; then
  (cd /usr/share/ca-certificates && find . -name '*.crt' | sed 's/^..//' | sort) >etc/ca-certificates.conf
  rm -f etc/ssl/certs/ca-certificates.crt etc/ssl/host-bundle.crt
  mkdir -p .build
  update-ca-certificates --certsconf ${tree}/etc/ca-certificates.conf --etccertsdir ${tree}/etc/ssl/certs \\
    --localcertsdir /nonexistent --hooksdir /nonexistent
fi
if [ -x /usr/bin/python3 ]; then
  if ! [ -e usr/bin/python ] && ! [ -L usr/bin/python ]; then ln -s python3 usr/bin/python; fi
  python3 -m compileall -q -s ${tree} -p / usr/lib/python3 usr/lib/python3.* >/dev/null || true
fi
if [ -x /usr/bin/glib-compile-schemas ] && [ -d usr/share/glib-2.0/schemas ]; then
  glib-compile-schemas usr/share/glib-2.0/schemas || true
fi`,
};

/** Python's own packages are found first; a version that Debian has stays beside the one that is asked for. */
const pip: Script = {
  name: "pip",
  text: `mkdir -p ${tree}/.build/tmp
export TMPDIR=${tree}/.build/tmp
python3 -m pip install --root ${tree} --no-input --no-cache-dir --no-warn-script-location --disable-pip-version-check "$@"`,
};

const npm: Script = {
  name: "npm",
  text: `mkdir -p ${tree}/usr/local ${tree}/.build
npm install --global --prefix ${tree}/usr/local --cache ${tree}/.build/npm --no-progress --no-color -- "$@"`,
};

/** In a builder whose root is the tree of packages. */
export function settleScripts(spec: ImageSpec): Script[] {
  return [
    copy,
    settle,
    ...(spec.pip.length > 0 ? [{ ...pip, words: spec.pip }] : []),
    ...(spec.npm.length > 0 ? [{ ...npm, words: spec.npm }] : []),
  ];
}

/** After the files of a specification are in their clean. */
export function lastScripts({ run }: ImageSpec): Script[] {
  return [...run.map((text, at): Script => ({ name: `run ${at + 1}`, text: `cd ${tree}\n${text}` })), clean];
}
