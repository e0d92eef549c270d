#!/bin/sh
# npm run fuzz [-- --seconds N] [TARGET…]: looks for inputs that the guest's parsers do not bear, N seconds a target (300).
# What it finds lies in .build/fuzz/TARGET: `failure-…` is a bug, `new-…` reaches code that nothing before it did.
set -eu
cd "$(dirname -- "$0")/.."
seconds=300
if [ "${1-}" = --seconds ]; then
  seconds=${2:?--seconds takes a number}
  shift 2
fi
[ $# -gt 0 ] || set -- $(ls native/fuzz/corpus)
seed=${CAISSON_SEED:-$(($(od -An -N4 -tu4 /dev/urandom) % 2147483647))}
sh native/build.sh fuzz
echo "seed: $seed"

failed=0
for target; do
  found=.build/fuzz/$target
  mkdir -p "$found"
  .build/bin/caisson-fuzz "$target" "native/fuzz/corpus/$target" "$seconds" "$seed" "$found" || failed=1
done
[ "$failed" -eq 0 ] || cat >&2 <<END
Something failed. To see one again:
  mkdir -p .build/fuzz/one && cp .build/fuzz/TARGET/failure-NAME .build/fuzz/one/
  .build/bin/caisson-fuzz TARGET .build/fuzz/one
When it is mended, copy the file to native/fuzz/corpus/TARGET under a name that says what it was: the tests replay it.
END
exit "$failed"
