#!/usr/bin/env bash
# What a context attach and close costs above the storage it wraps, both strategies, on each JDK found.
#   ROUNDS=3 scripts/bench.sh [17 21 25]
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

bench="$ROOT/java-shim/bench"
JAVA_HOME="$(find_jdk 17 999 javac)" mvn -q -B -f "$bench/pom.xml" package
out="$(mktemp -d)"
trap 'rm -rf "$out"' EXIT
for feature in "${@:-25}"; do
  home="$(find_jdk "$feature" "$feature")" || die "no JDK $feature here"
  for context in mount sample; do
    [ "$context" = mount ] || [ "$feature" -ge 24 ] || continue
    echo "== JDK $feature, context=$context"
    "$home/bin/java" "-Dvtprof.bench.rounds=${ROUNDS:-3}" \
      -cp "$bench/target/vtprof-otel-bench.jar:$ROOT/java-shim/target/vtprof-otel.jar:$bench/target/lib/*" \
      io.vtprof.otel.bench.Interleaved \
      -jvmArgsAppend "-agentpath:$TARGET/release/libvtprof.so=out=$out,context=$context,log=warn" |
      tail -n 8
  done
done
