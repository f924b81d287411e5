#!/usr/bin/env bash
# `vtprof merge` and `vtprof diff` beside `go tool pprof -proto` on the same files, in turns: seconds by the clock and of CPUs,
# and the most memory each had.
#   WINDOWS=1000 ROUNDS=5 scripts/bench_merge.sh
# Of 1,000 windows with all labels Go needs some 30 GiB; GO_MAX_GIB is where it is ended, and 0 leaves it out.
# The windows are those of cli/examples/windows.rs: 6,000 samples over 2,000 stacks of some 40 frames, 500 requests that are
# new in each. Merged are all labels, and then all but the ids, of which the sum is small. Compared is the first half of the
# windows with the second; ONLY=diff or ONLY=merge leaves the other out.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

windows="${WINDOWS:-1000}" rounds="${ROUNDS:-5}" go_gib="${GO_MAX_GIB:-48}"
go="$(command -v go || echo /usr/local/go/bin/go)"
[ "$go_gib" -eq 0 ] || [ -x "$go" ] || die "no Go here to compare with"
[ -x /usr/bin/time ] || die "no /usr/bin/time here"

"$ROOT/scripts/native.sh" -p vtprof-cli --bins --examples
folder="$TARGET/bench-merge/windows-$windows"
if [ ! -e "$folder/.whole" ]; then
  rm -rf "$folder"
  "$TARGET/release/examples/windows" "$folder" --windows "$windows"
  touch "$folder/.whole"
fi
out="$(mktemp -d)"
trap 'rm -rf "$out"' EXIT

# Seconds, CPU seconds and KiB of a command, added to a list.
measure() {
  local list="$1"
  shift
  /usr/bin/time -f '%e %U %S %M' -a -o "$list" "$@" >/dev/null 2>"$out/said" || { cat "$out/said" >&2; die "$1 failed"; }
}

# Minimum, median, least of the CPU and most memory of a list.
figures() {
  sort -n "$1" | awk '{ s[NR] = $1; c = $2 + $3; if (NR == 1 || c < cpu) cpu = c; if ($4 > m) m = $4 }
    END { printf "%.2f %.2f %.2f %.0f", s[1], (s[int((NR + 1) / 2)] + s[int(NR / 2) + 1]) / 2, cpu, m / 1024 }'
}

# Measures the commands `ours` and `theirs` in turns.
compare() {
  local name="$1" command="$2" our_list="$out/ours" their_list="$out/theirs" a b
  rm -f "$our_list" "$their_list"
  for ((round = 0; round < rounds; round++)); do
    measure "$our_list" "$TARGET/release/vtprof" "${ours[@]}"
    [ "$go_gib" -eq 0 ] || measure "$their_list" prlimit "--as=$((go_gib << 30))" "$go" tool pprof -proto "-output=$out/theirs.pb.gz" "${theirs[@]}"
  done
  read -r -a a < <(figures "$our_list"; echo)
  echo "== $command, $name, $windows windows, $rounds rounds in turns; load $(cut -d' ' -f1-3 /proc/loadavg)"
  printf '%-20s %10s %10s %10s %12s\n' "" "min s" "median s" "min CPU s" "most MiB"
  printf '%-20s %10s %10s %10s %12s\n' "vtprof $command" "${a[@]}"
  [ "$go_gib" -gt 0 ] || return 0
  read -r -a b < <(figures "$their_list"; echo)
  printf '%-20s %10s %10s %10s %12s\n' "go tool pprof" "${b[@]}"
  awk -v a="${a[1]}" -v b="${b[1]}" -v c="${a[3]}" -v d="${b[3]}" \
    'BEGIN { printf "by the median %.1f times as fast, with %.1f %% of the memory\n", b / a, 100 * c / d }'
}

ids="trace_id,span_id,local_root_span_id"
files=("$folder"/*.pb.gz)
if [ "${ONLY:-merge}" = merge ]; then
  ours=(merge "$folder" -o "$out/ours.pb.gz") theirs=("${files[@]}")
  compare "all labels" merge
  ours+=(--drop-labels "$ids") theirs=("-taghide=^(${ids//,/|})\$" "${files[@]}")
  compare "without ids" merge
fi
if [ "${ONLY:-diff}" = diff ]; then
  half=$((${#files[@]} / 2))
  mkdir "$out/before" "$out/after"
  ln -s "${files[@]:0:half}" "$out/before"
  ln -s "${files[@]:half}" "$out/after"
  ours=(diff "$out/before" "$out/after" --json) theirs=("${files[@]:0:half}")
  theirs=("${theirs[@]/#/-diff_base=}" "${files[@]:half}")
  compare "the first half with the second" diff
fi
