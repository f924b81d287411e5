#!/usr/bin/env bash
# A Helidon service on virtual threads under load, profiled: what the README shows.
#   SECONDS_OF_LOAD=30 PORT=0 scripts/demo.sh
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

load_seconds="${SECONDS_OF_LOAD:-30}"
dist="$ROOT/dist/vtprof"
jar="$ROOT/integration/java/helidon-demo/target/helidon-demo.jar"
javaagent="$ROOT/integration/java/truth/target/otel/opentelemetry-javaagent.jar"
out="$ROOT/vtprof/demo-$(date -u +%Y%m%dT%H%M%SZ)"
java="$(find_jdk 21)/bin/java" || die "a JDK from 21 on is needed"
for file in "$dist/libvtprof.so" "$jar" "$javaagent"; do
  [ -f "$file" ] || die "$file is missing; run make demo"
done

mkdir -p "$out"
log="$out/service.log"
say "starting the service on $("$java" -version 2>&1 | sed -n 's/^openjdk version //p'), log in $log"
# The OTel javaagent makes the spans; no collector is needed to see them here.
OTEL_TRACES_EXPORTER=none OTEL_METRICS_EXPORTER=none OTEL_LOGS_EXPORTER=none OTEL_SERVICE_NAME=demo \
  "$java" "-agentpath:$dist/libvtprof.so=out=$out,every=10s" "-javaagent:$javaagent" \
  -jar "$jar" "--port=${PORT:-0}" >"$log" 2>&1 &
service=$!
trap 'kill "$service" 2>/dev/null || true' EXIT

url=
for _ in $(seq 240); do
  url="$(sed -n 's/^listening on //p' "$log")"
  [ -z "$url" ] || break
  kill -0 "$service" 2>/dev/null || die "the service did not start: see $log"
  sleep 0.5
done
[ -n "$url" ] || die "the service does not answer: see $log"
grep '^vtprof: ' "$log" >&2 || die "the agent did not start: see $log"

"$java" -cp "$jar" io.vtprof.demo.Load "--url=$url" "--seconds=$load_seconds"
kill -TERM "$service"
wait "$service" || true
trap - EXIT

echo
"$dist/vtprof" spans "$out" --limit 8
echo
"$dist/vtprof" top "$out" --focus "name=GET /slow" --limit 8
echo
echo "profiles:    $out"
echo "one request: $dist/vtprof top $out --focus root=ID      (an id under LOCAL ROOT)"
