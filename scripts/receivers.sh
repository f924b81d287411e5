#!/usr/bin/env bash
# Builds the servers that tests send profiles to, of Go modules, into .toolchain/receivers/. What is there and of these
# sources stays. Without Go, or where the modules cannot be had, nothing is built, and the tests that want them say SKIPPED;
# VTPROF_REQUIRE_RECEIVERS=pyroscope,otlp makes that a failure.
#   receivers.sh pyroscope otlp   seconds: programs on the servers' own types
#   receivers.sh collector        minutes: the OpenTelemetry Collector itself
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

BUILDER=go.opentelemetry.io/collector/cmd/builder@v0.165.0
OUT="$TOOLCHAIN/receivers"

# skipped WHAT WHY: what is there already was built of other sources.
skipped() {
  case ",${VTPROF_REQUIRE_RECEIVERS:-}," in
    *",$1,"*) die "the receiver $1 cannot be built, and VTPROF_REQUIRE_RECEIVERS wants it: $2" ;;
  esac
  say "SKIPPED the receiver $1: $2"
  rm -f "$OUT/$1" "$OUT/$1.of"
}

if ! go="$(command -v go)"; then
  go=/usr/local/go/bin/go
  [ -x "$go" ] || go=
fi
[ -z "$go" ] || PATH="$(dirname "$go"):$PATH"
mkdir -p "$OUT"

# What a program is built of, as one line.
sources() {
  {
    find "$ROOT/integration/receivers/$1" -type f ! -name config.yaml -print0 | LC_ALL=C sort -z | xargs -0 cat
    [ "$1" != collector ] || printf '%s\n' "$BUILDER"
  } | cksum
}

# Loads the modules that a program is built of, and no code is compiled: what fails here is no fault of the code.
load() {
  case "$1" in
    pyroscope | otlp) (cd "$ROOT/integration/receivers/$1" && go list -deps .) ;;
    # The builder loads the others as it goes.
    collector) GOBIN="$OUT/bin" go install "$BUILDER" ;;
  esac
}

build() {
  case "$1" in
    pyroscope | otlp) (cd "$ROOT/integration/receivers/$1" && go build -o "$OUT/$1" .) ;;
    collector)
      # Its output path is below where it is run.
      (cd "$OUT" && bin/builder --config="$ROOT/integration/receivers/collector/builder.yaml") >"$OUT/collector.log" 2>&1 ||
        die "the Collector cannot be built: see $OUT/collector.log"
      mv "$OUT/collector-sources/otelcol-vtprof" "$OUT/collector"
      ;;
  esac
}

for what in "$@"; do
  case "$what" in
    pyroscope | otlp | collector) ;;
    *) die "no receiver '$what': give pyroscope, otlp or collector" ;;
  esac
  of="$(sources "$what")"
  if [ -x "$OUT/$what" ] && [ "$(cat "$OUT/$what.of" 2>/dev/null)" = "$of" ]; then
    continue
  fi
  if [ -z "$go" ]; then
    skipped "$what" "no Go here"
    continue
  fi
  say "building $what into .toolchain/receivers/"
  if ! load "$what" >/dev/null 2>"$OUT/$what.log"; then
    ! grep -q 'go\.sum\|SECURITY ERROR' "$OUT/$what.log" || die "modules of $what are other than go.sum has them: see $OUT/$what.log"
    skipped "$what" "its Go modules cannot be had: $(tail -n 1 "$OUT/$what.log")"
    continue
  fi
  build "$what"
  printf '%s\n' "$of" >"$OUT/$what.of"
done
