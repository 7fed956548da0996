#!/bin/bash
# coverage.sh [-w WORK] [CTEST-ARGUMENT...] - lines and branches of each folder of the product that the
# tests run, counted by gcov. Builds without optimization into WORK (default: build_coverage in this
# clone; kept), runs ctest there with the arguments (all tests without), and prints
#
#   FOLDER  LINES  RUN/%  BRANCHES  TAKEN/%
#
# and with the file WORK/lines the lines that did not run, as FILE:LINE: TEXT. Needs gcc. An hour.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$top/build_coverage
case ${1:-} in
-h | --help)
    sed -n '2,${/^#/!q;s/^# \{0,1\}//p}' "$0"
    exit
    ;;
-w)
    work=$2
    shift 2
    ;;
esac
launcher=$(command -v ccache || true)
cmake -S "$top" -B "$work" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS="--coverage -fprofile-update=atomic" \
    ${launcher:+-DCMAKE_C_COMPILER_LAUNCHER=ccache} >/dev/null
cmake --build "$work" -j2 --target all tests >/dev/null
work=$(cd "$work" && pwd)
find "$work" -name '*.gcda' -delete
ctest --test-dir "$work" -j2 "$@" | tail -8 >&2 || true

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
grep -h -H '^ *#####:' ./*.c.gcov 2>/dev/null |
    sed -E 's/^\.?\/?([^:]*)\.gcov: *#####: *([0-9]+):/\1:\2:/; s/#/\//g' >"$work/lines" || true
