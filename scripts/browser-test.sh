#!/usr/bin/env bash
# The pages of `vtprof flame` and `vtprof view` in a real browser. Where there is none, one line says so.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

browser="${CHROMIUM:-}"
for path in /usr/bin/chromium /usr/bin/chromium-browser /usr/bin/google-chrome; do
  [ -n "$browser" ] || [ ! -x "$path" ] || browser="$path"
done
[ -n "$browser" ] || { say "SKIPPED browser-test: no Chromium here; on Debian: apt-get install chromium"; exit 0; }
command -v npm >/dev/null || { say "SKIPPED browser-test: no Node.js and npm here (20 or later)"; exit 0; }

cd "$ROOT"
npm ci --prefix cli/tests/browser --no-audit --no-fund --silent
CHROMIUM="$browser" cargo test -p vtprof-cli --locked --test browser -- --ignored --nocapture
