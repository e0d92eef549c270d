import { ownPrograms } from "../../core/image.ts";
import { packageAdvice } from "../../core/network-refusal.ts";

/** The `apt` and `apt-get` of a sandbox: the image's own program, and after its failure how packages come into a sandbox. */
export const aptProgram = `#!/bin/sh
set -f
name=\${0##*/}
rest=
IFS=:
for folder in $PATH; do
  [ "$folder" = ${ownPrograms} ] || rest=$rest:$folder
done
unset IFS
PATH=\${rest#:}
status=127
if command -v "$name" >/dev/null; then
  "$name" "$@" && exit
  status=$?
fi
echo "apt installs nothing in a sandbox. ${packageAdvice.apt}" >&2
exit $status
`;
