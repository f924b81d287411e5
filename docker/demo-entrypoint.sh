#!/bin/sh
# Entry of the demo image: `serve` (default), `load …`, or `health`.
set -eu
what="${1:-serve}"
[ "$#" = 0 ] || shift
case "$what" in
  serve)
    export OTEL_TRACES_EXPORTER="${OTEL_TRACES_EXPORTER:-none}"
    export OTEL_METRICS_EXPORTER="${OTEL_METRICS_EXPORTER:-none}"
    export OTEL_LOGS_EXPORTER="${OTEL_LOGS_EXPORTER:-none}"
    exec java "-agentpath:$VTPROF_HOME/libvtprof.so=out=$PROFILES" \
      "-javaagent:$DEMO_HOME/opentelemetry-javaagent.jar" \
      -jar "$DEMO_HOME/helidon-demo.jar" "--host=${HOST:-0.0.0.0}" "--port=$PORT"
    ;;
  load)
    exec java -cp "$DEMO_HOME/helidon-demo.jar" io.vtprof.demo.Load "$@"
    ;;
  health)
    exec java -cp "$DEMO_HOME/helidon-demo.jar" io.vtprof.demo.Load \
      "--url=http://localhost:$PORT" --seconds=1 --clients=1
    ;;
  *)
    echo "serve, load or health, not $what" >&2
    exit 2
    ;;
esac
