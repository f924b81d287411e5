#!/usr/bin/env bash
# The tests that run on a JDK, on each JDK by itself: a line a test and JDK while they run, a table at the end.
#   matrix.sh                on 17, 21, 25, 26, 27
#   matrix.sh 26,27          on these
#   matrix.sh 26,27 exits …  only these files of integration/tests
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$ROOT"

IFS=, read -ra features <<<"${1:-17,21,25,26,27}"
shift || true
tests=("$@")
if [ "${#tests[@]}" -eq 0 ]; then
  while IFS= read -r file; do
    tests+=("$(basename "$file" .rs)")
  done < <(grep -lE 'jdk::|truth_run::' integration/tests/*.rs)
fi

for feature in 26 27; do
  home="$TOOLCHAIN/sid/jdk-$feature"
  variable="VTPROF_JDK_$feature"
  if [ -z "${!variable:-}" ] && [ -x "$home/bin/java" ]; then
    export "$variable=$home"
  fi
done

logs="$TARGET/matrix"
mkdir -p "$logs"
cargo test -q -p vtprof-integration --locked --no-run 2>"$logs/build.log" || {
  cat "$logs/build.log" >&2
  die "the tests cannot be built"
}
failed=0
passed=0
table=
for test in "${tests[@]}"; do
  row="$(printf '%-20s' "$test")"
  for feature in "${features[@]}"; do
    log="$logs/$test-$feature.log"
    if ! VTPROF_JDKS="$feature" VTPROF_REQUIRE_JDKS="$feature" \
      cargo test -q -p vtprof-integration --locked --test "$test" -- --nocapture >"$log" 2>&1; then
      result=FAILED
      failed=$((failed + 1))
      say "$test on JDK $feature: FAILED, see $log"
      grep -A3 'panicked at' "$log" >&2 || tail -5 "$log" >&2
    elif grep -q " on JDK $feature" "$log"; then
      result=passed
      passed=$((passed + 1))
      say "$test on JDK $feature: passed"
    else
      # Not every test is about every release.
      result=-
    fi
    row+="$(printf '%8s' "$result")"
  done
  table+="$row"$'\n'
done

printf '\n%-20s' test
printf '%8s' "${features[@]}"
printf '\n%s\n%d passed, %d failed\n' "$table" "$passed" "$failed"
[ "$failed" -eq 0 ]
