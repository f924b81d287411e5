#!/usr/bin/env bash
# What can be held of the images without an engine: that each step of the Dockerfile works as it is written there.
# Runs after `make dist java`; the build stage's own script is run up to what those have built already.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

work="$(mktemp -d)"
service=
trap '[ -z "$service" ] || kill "$service" 2>/dev/null || true; rm -rf "$work"' EXIT

hadolint="$TOOLCHAIN/hadolint/bin/hadolint"
if [ -x "$hadolint" ]; then
  "$hadolint" "$ROOT/docker/Dockerfile"
else
  echo "SKIPPED hadolint: not here"
fi

# Every path that is copied, from the source tree or from the build stage, exists.
"$ROOT/docker/build-steps.sh" >/dev/null
while read -r source; do
  path="${source#/src/}"
  [ -e "$ROOT/$path" ] || die "docker/Dockerfile copies $source, which the build does not leave"
done < <(sed -n 's/^COPY --from=build \([^ ]*\) .*/\1/p; s/^COPY \(docker\/[^ ]*\) .*/\1/p' "$ROOT/docker/Dockerfile")

# Every variable the entry point needs is set in the image.
for name in $(grep -o '\$[A-Z][A-Z_]*' "$ROOT/docker/demo-entrypoint.sh" | tr -d '$' | sort -u); do
  grep -q "\b$name=" "$ROOT/docker/Dockerfile" || die "docker/Dockerfile does not set $name"
done

# The demo stage runs, answers its health check, takes load, and leaves profiles the dist stage reads.
mkdir "$work/profiles"
java_home="$(find_jdk 21)"
export PATH="$java_home/bin:$PATH" DEMO_HOME="$ROOT/dist/demo" VTPROF_HOME="$ROOT/dist/vtprof" \
  PROFILES="$work/profiles" PORT=18231 HOST=127.0.0.1
if "$ROOT/docker/demo-entrypoint.sh" health >/dev/null 2>&1; then
  die "the demo image's health check passes where nothing serves"
fi
"$ROOT/docker/demo-entrypoint.sh" serve >"$work/log" 2>&1 &
service=$!
for _ in $(seq 240); do
  grep -q '^listening on ' "$work/log" && break
  kill -0 "$service" 2>/dev/null || { cat "$work/log" >&2; die "the demo image's service does not start"; }
  sleep 0.5
done
"$ROOT/docker/demo-entrypoint.sh" health >/dev/null || die "the demo image's health check fails"
"$ROOT/docker/demo-entrypoint.sh" load "--url=http://localhost:$PORT" --seconds=5 >/dev/null
kill -TERM "$service"
wait "$service" || true
service=
"$ROOT/dist/vtprof/vtprof" spans "$work/profiles" | grep -q 'GET /fast' ||
  die "the profiles of the demo image name no endpoint"

# The compose file names only stages that exist.
while read -r target; do
  grep -q "AS $target\$" "$ROOT/docker/Dockerfile" || die "docker/compose.yaml builds $target, which is no stage"
done < <(sed -n 's/^ *target: //p' "$ROOT/docker/compose.yaml")
echo "docker: steps of 3 stages ran"
