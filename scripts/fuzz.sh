#!/usr/bin/env bash
# The parsers under libFuzzer and AddressSanitizer, one after the other, for MINUTES in all; a finding ends it and stays in
# profile/fuzz/artifacts.
#   MINUTES=60 scripts/fuzz.sh [pprof any otlp json collapsed]
# The toolchain is the project's: RUSTC_BOOTSTRAP opens the flags that cargo-fuzz would ask a nightly one for.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

minutes="${MINUTES:-60}"
[ $# -gt 0 ] || set -- pprof any otlp json collapsed
seconds=$((minutes * 60 / $#))

host="$(rustc -vV | sed -n 's/^host: //p')"
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
  -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
cd "$ROOT/profile/fuzz"
RUSTC_BOOTSTRAP=1 RUSTFLAGS="--cfg fuzzing -Zsanitizer=address ${coverage//$'\n'/}" \
  cargo build --release --locked --target "$host" --target-dir "$TARGET/fuzz"

for target in "$@"; do
  # What is found on the way stays out of the tree; the seeds are in it.
  found="$TARGET/fuzz/corpus/$target"
  mkdir -p "$found" "artifacts/$target"
  # What an hour has found, cut down to what reaches other code.
  [ ! -e "corpus/$target.tar.xz" ] || tar -xJf "corpus/$target.tar.xz" -C "$found" --skip-old-files
  say "$target: $seconds s"
  "$TARGET/fuzz/$host/release/$target" "$found" "corpus/$target" \
    -max_total_time="$seconds" -max_len=8192 -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 -print_funcs=0 \
    -artifact_prefix="artifacts/$target/"
done
