#!/usr/bin/env bash
# The build stage of docker/Dockerfile: dist/vtprof/, and dist/demo/ with the service and the OTel javaagent.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

cd "$ROOT"
make dist java
demo="$ROOT/dist/demo"
rm -rf "$demo"
mkdir -p "$demo"
java="$ROOT/integration/java"
cp "$java/helidon-demo/target/helidon-demo.jar" "$java/truth/target/otel/opentelemetry-javaagent.jar" "$demo/"
cp -r "$java/helidon-demo/target/lib" "$demo/"
