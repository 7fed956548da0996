#!/bin/bash
# house.sh [TOP]: checks rules of the house in the sources below TOP (default: this clone). Prints each
# violation as file:line: rule, and exits non-zero when there is one. Takes a second.
#
#   product file     at most 600 lines    (adapters, models, plugin, solvers)
#   test file        at most 900 lines
#   folder           at most 30 sources
#   top level        the folders, CMakeLists.txt, README.md, LICENSE and dotfiles, nothing else
#   headers          no circle of #include "..." between the files of a room
#   comments         of the product do not open with What, Where, How, Who or That which as their
#                    subject, nor with Of: say of what they tell, or what a number is relative to;
#                    questions may
#   mutants.txt      each entry names a line that is there

set -u
. "$(dirname "$0")/help.sh"
top=$(cd "${1:-$(dirname "$0")/../..}" && pwd) && cd "$top" || exit 1

# tracked or not, but not ignored; those that are there
folders='adapters models plugin solvers test'
# shellcheck disable=SC2086 # folders without spaces
mapfile -t sources < <({ git ls-files -co --exclude-standard -- $folders 2>/dev/null || find $folders -type f; } |
    grep '\.[ch]$' | sort | xargs ls -d 2>/dev/null)

# Violations; and edges "including included" of headers in the same folder, for tsort, which reports circles.
found=$(awk -v edges="$(mktemp)" '
    function end_of_file(   most) {
        most = file ~ /^test\// ? 900 : 600
        if (lines > most) { print file ":" lines ": more than " most " lines" }
    }
    FNR == 1 {
        end_of_file()
        file = folder = FILENAME
        sub(/\/[^\/]*$/, "", folder)
        count[folder]++
        inside = 0
    }
    { lines = FNR }
    file ~ /^test\// { next }
    /^#include "/ && file ~ /\.h$/ {
        split($0, part, "\"")
        if (part[2] !~ /\//) { print file, folder "/" part[2] >edges }
    }
    { comment = $0 ~ /^[[:space:]]*\/\/ / }
    # only the first line of a comment opens it
    comment && !inside && /^[[:space:]]*\/\/ (What|Where|How|Who|That which|Of) / && !/\?[[:space:]]*$/ {
        print FILENAME ":" FNR ": comment opens with " $2
    }
    { inside = comment }
    END {
        end_of_file()
        for (folder in count) {
            if (count[folder] > 30) { print folder ":1: " count[folder] " sources, more than 30" }
        }
        close(edges)
        sort = "tsort " edges " 2>&1 >/dev/null"
        while ((sort | getline) > 0) {
            if ($2 ~ /\.h$/) { print $2 ":1: in a circle of includes" }
        }
        system("rm " edges)
    }' "${sources[@]}")

# Paragraphs "file, line above, line, ...".
gone=$(awk '
    { text = $0; sub(/^ +/, "", text) }
    FNR == NR {
        file = last == "" ? $0 : file
        above = /^  / ? text : above
        if (/^- /) {
            line = substr($0, 3)
            entry[file, above, line] = file ":1: mutants.txt has a line that is gone: " line
        }
        last = $0
        next
    }
    { delete entry[FILENAME, above, text]; above = text }
    END { for (e in entry) { print entry[e] } }' test/scripts/mutants.txt "${sources[@]}")
found=$found${gone:+${found:+$'\n'}$gone}
stray=$(git ls-files 2>/dev/null | cut -d/ -f1 | sort -u |
    grep -vxE "(${folders// /|}|CMakeLists\.txt|README\.md|LICENSE|\..*)" | sed 's/$/:1: does not belong at the top level/')
found=$found${stray:+${found:+$'\n'}$stray}
[ -z "$found" ] || { echo "$found"; exit 1; }
