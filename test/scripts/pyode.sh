#!/bin/bash
# pyode.sh [METHODS] - the Python program test/demos/pyode_pile.py (apt-get install
# python3-pyode) under stock and under methods of sprag's (stribeck,ess,advance,ode), with dWorldStep
# and dWorldQuickStep: steps, islands that stock had to step, bodies that were not finite, CPU time of
# the program, and its last line, of which the centre of a body that lies can be no lower than 0.1 m.
# Exit code 1 if a body was lower, or no number, or an island fell back, or the program died.
set -euo pipefail
. "$(dirname "$0")/help.sh"
tools=$(cd "$(dirname "$0")/../demos" && pwd) methods=${1:-stribeck,ess,advance,ode} failed=0
library=${LIBRARY:-$(cd "$(dirname "$0")/../.." && pwd)/build/libsprag.so}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '%-10s %-9s %4s %6s %8s %5s %6s  %s\n' stepper method ends steps fallback held CPU/s says
for quick in 0 1; do
    for method in stock ${methods//,/ }; do
        rm -f "$work/steps.csv"
        code=0
        preload=$library
        [ "$method" = stock ] && preload=
        (TIMEFORMAT=%U && time QUICK=$quick SPRAG_OPTIONS=method=$method SPRAG_STATS=$work/steps.csv \
            LD_PRELOAD=$preload timeout 300 /usr/bin/python3 "$tools/pyode_pile.py" \
            >"$work/out" 2>"$work/err.$quick.$method") 2>"$work/time" || code=$?
        read -r steps fallbacks held <<<"$(awk -F, '
            $1 == "process" { for (i = 1; i <= NF; i++) at[$i] = i; next }
            { n++; f = $at["fallbacks"]; h = $at["frozen"] } END { print n + 0, f + 0, h + 0 }' \
            "$work/steps.csv" 2>/dev/null || echo - 0 0)"
        printf '%-10s %-9s %4s %6s %8s %5s %6s  %s\n' "$([ $quick = 1 ] && echo QuickStep || echo Step)" \
            "$method" "$code" "$steps" "$fallbacks" "$held" "$(tail -1 "$work/time")" "$(tail -1 "$work/out")"
        lowest=$(sed -n 's/.*lowest centre \([^ ]*\).*/\1/p' "$work/out")
        if [ $code != 0 ] || [ "$fallbacks" != 0 ] || [ "$held" != 0 ] || grep -q nan "$work/out" ||
            ! awk -v z="${lowest:--1}" 'BEGIN { exit !(z > 0.09) }'; then
            failed=1
        fi
    done
done
echo
for file in "$work"/err.*; do
    grep -a -o 'sprag: .*' "$file" | sed "s/^sprag:/${file##*.}:/; s/0x[0-9a-f]*/(address)/g" || true
done | sort -u
exit $failed
