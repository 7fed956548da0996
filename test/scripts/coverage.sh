#!/bin/bash
# coverage.sh [-w WORK] [-t MINUTES] [CTEST-ARGUMENT...] - lines and branches of each folder of the
# product that the tests run, counted by gcov. Builds into WORK (default: build_coverage in this
# clone; kept), runs ctest there with the arguments (all tests that run the product's code without),
# and prints
#
#   FOLDER  LINES  RUN/%  BRANCHES  TAKEN/%
#
# It writes the lines that did not run to WORK/lines and those with a branch that was never taken to
# WORK/branches, as FILE:LINE: TEXT. Needs gcc. After MINUTES (30) of tests, what has run by then
# counts.
#
# -O1 takes a third of the time of -O0, and leaves each line and branch of its own. Threads may lose
# counts, but none becomes 0 by that.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$top/build_coverage minutes=30
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) sed -n '2,${/^#/!q;s/^# \{0,1\}//p}' "$0" && exit ;;
    -w) work=$2 && shift 2 ;;
    -t) minutes=$2 && shift 2 ;;
    *) break ;;
    esac
done
launcher=$(command -v ccache || true)
unset CCACHE_BASEDIR # gcov would not know sources by relative paths
cmake -S "$top" -B "$work" -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="--coverage -O1 -g" \
    ${launcher:+-DCMAKE_C_COMPILER_LAUNCHER=ccache} >/dev/null
cmake --build "$work" -j2 --target all tests >/dev/null
work=$(cd "$work" && pwd)
find "$work" -name '*.gcda' -delete
[ $# -gt 0 ] || set -- -E '^(house|pages|page|install|symbols|hardening|locale)$'
timeout $((60 * minutes)) ctest --test-dir "$work" -j2 "$@" | tail -8 >&2 || true

# gcov writes FILE.gcov.json or text beside; the text of all sources goes into one folder.
mkdir -p "$work/gcov" && cd "$work/gcov" && rm -f ./*
find "$work" -path '*/test/*' -prune -o -name '*.gcda' -print0 |
    xargs -0 -n1 gcov -b -p -s "$top" -r 2>/dev/null |
    awk '
        /^File / { file = $0; gsub(/^File .|.$/, "", file); next }
        /^Lines executed/ && file != "" { split($0, part, /[:% ]+/); lines[file] = part[5]; run[file] = part[3] }
        /^Taken at least once/ && file != "" { split($0, part, /[:% ]+/); branches[file] = part[7]; taken[file] = part[5] }
        END {
            for (file in lines) {
                if (file !~ /^(solvers|adapters|plugin|models)\/.*\.c$/) { continue }
                folder = file; sub(/\/[^\/]*$/, "", folder)
                n[folder] += lines[file]; hit[folder] += lines[file] * run[file] / 100
                b[folder] += branches[file]; took[folder] += branches[file] * taken[file] / 100
            }
            for (folder in n) {
                printf "%-22s %6d %6.1f %8d %6.1f\n", folder, n[folder], 100 * hit[folder] / n[folder],
                    b[folder], b[folder] ? 100 * took[folder] / b[folder] : 100
                all += n[folder]; h += hit[folder]; ab += b[folder]; t += took[folder]
            }
            printf "%-22s %6d %6.1f %8d %6.1f\n", "~all", all, 100 * h / all, ab, 100 * t / ab
        }' | sort | sed 's/^~all/all /'
# Lines "COUNT:LINE:TEXT" of a source, each followed by its branches.
awk -F: -v lines="$work/lines" -v branches="$work/branches" '
    BEGIN { printf "" >lines; printf "" >branches }
    FNR == 1 { source = FILENAME; sub(/^\.\//, "", source); sub(/\.gcov$/, "", source); gsub(/#/, "/", source) }
    /^ *#####:/ { at = $2; sub(/^ */, "", at); sub(/^[^:]*:[^:]*:/, ""); print source ":" at ":" $0 >lines; at = ""; next }
    /^ *[0-9]+\*?:/ { at = $2; sub(/^ */, "", at); sub(/^[^:]*:[^:]*:/, ""); text = $0; next }
    /^branch .*taken 0%/ && at != "" { print source ":" at ":" text >branches; at = "" }
' $(ls ./*.c.gcov | grep -E '/(solvers|adapters|plugin)#')
