#!/bin/sh
# npm test [-- vitest arguments]. CAISSON_SEED repeats a run; CAISSON_SOAK=1 makes the long ones long and leaves out the linters.
cd "$(dirname -- "$0")/.." || exit 125
./caisson --setup || exit
# The tests run on the launcher's Node, whatever Node npm runs on.
PATH=$PWD/.build/bin:$PWD/node_modules/.bin:$PATH
CAISSON_SEED=${CAISSON_SEED:-$(($(od -An -N4 -tu4 /dev/urandom) % 2147483647))}
export PATH CAISSON_SEED
rm -f .build/test-report.json .build/lint-failed

failed=0
if [ "${CAISSON_SOAK-}" != 1 ]; then
  sh scripts/lint.sh
  failed=$?
fi
echo "$failed" >.build/lint-failed

echo "seed: $CAISSON_SEED"
vitest run --reporter=default --reporter=json --outputFile.json=.build/test-report.json "$@"
status=$?
if [ "$status" -ne 0 ] && [ -f .build/test-report.json ] && [ "${CAISSON_SOAK-}" != 1 ]; then
  node scripts/again.mjs && status=0
fi
[ "$status" -ne 0 ] || status=$failed
exit "$status"
