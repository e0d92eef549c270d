import { pipReport } from "../../core/package.ts";

/**
 * The `pip` that installs for a caller. Python looks for a user's packages in ~/.local, which here is a folder of the
 * workspace: what is installed goes with snapshots, and every run finds it. A ~/.local of the user's own stays what it is.
 */
export const pipProgram = `#!/bin/sh
mkdir -p /workspace/.packages "$TMPDIR" && rm -f ${pipReport} || exit 1
[ -e "$HOME/.local" ] || ln -s /workspace/.packages "$HOME/.local" || exit 1
verb=$1
shift
exec python3 -m pip "$verb" --user --no-input --disable-pip-version-check --no-warn-script-location --report ${pipReport} "$@"
`;
