#!/usr/bin/env bash
# Builds the servers that tests send profiles to, of Go modules, into .toolchain/receivers/. What is there and of these
# sources stays. Without Go nothing is built, and the tests that want them say SKIPPED.
#   receivers.sh pyroscope otlp   seconds: programs on the servers' own types
#   receivers.sh collector        minutes: the OpenTelemetry Collector itself
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

BUILDER=go.opentelemetry.io/collector/cmd/builder@v0.165.0
OUT="$TOOLCHAIN/receivers"

if ! go="$(command -v go)"; then
  go=/usr/local/go/bin/go
  if [ ! -x "$go" ]; then
    say "no Go here: the tests with other servers' own code are skipped"
    exit 0
  fi
fi
PATH="$(dirname "$go"):$PATH"
mkdir -p "$OUT"

# What a program is built of, as one line.
sources() { find "$ROOT/integration/receivers/$1" -type f ! -name config.yaml | LC_ALL=C sort | xargs cat | cksum; }

build() {
  case "$1" in
    pyroscope | otlp) (cd "$ROOT/integration/receivers/$1" && go build -o "$OUT/$1" .) ;;
    collector)
      GOBIN="$OUT/bin" go install "$BUILDER"
      # Its output path is below where it is run.
      (cd "$OUT" && bin/builder --config="$ROOT/integration/receivers/collector/builder.yaml") >"$OUT/collector.log" 2>&1 ||
        die "the Collector cannot be built: see $OUT/collector.log"
      mv "$OUT/collector-sources/otelcol-vtprof" "$OUT/collector"
      ;;
    *) die "no receiver '$1': give pyroscope, otlp or collector" ;;
  esac
}

for what in "$@"; do
  of="$(sources "$what")"
  if [ -x "$OUT/$what" ] && [ "$(cat "$OUT/$what.of" 2>/dev/null)" = "$of" ]; then
    continue
  fi
  say "building $what into .toolchain/receivers/"
  build "$what"
  printf '%s\n' "$of" >"$OUT/$what.of"
done
