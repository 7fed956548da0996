#!/bin/bash
# mutants.sh [-n COUNT] [-s SEED] [-t SECONDS] [-w WORK] [FILE...] - would the tests notice? Changes one
# token of one source at a time, drawn from FILE... (all C sources of solvers, adapters and plugin), builds, and
# runs the tests until one fails: first `bits`, which compares every bit of short worlds, then those in
# the folder of test/unit that mirrors the source's and those of the plugin that step what is in it,
# then the others, the shortest first. Prints a line for each mutant and the survivors' differences at
# the end. Exit code 1 if more than one in twenty survives. Takes a minute or two a mutant. Needs
# ninja-build.
#
# `<` becomes `<=`, which differs where both sides are equal. Two floating-point numbers of which none
# is written there are so by chance, mostly: their comparison is turned round (`>=`). One with a number
# that is written, as 0, keeps its tie. Mutants that mutants.txt lists, as they change nothing, are
# left out and counted apart.
#
#   -n COUNT    mutants that build and change the object file (40)
#   -s SEED     draws others (1)
#   -t SECONDS  of processor time, of tests for one mutant, as long as they take without a change (600):
#               it survives those
#   -w WORK     folder for the copy of the sources and its build; kept, and used again by the next run
#               (default: a temporary one)
#
# A test that fails without a change tells nothing: it is named and takes no part. One that takes four
# times its processor time and 20 s, or 4 GB, fails, and one that waits for 20 times as long. Tests of
# the pages, of the installation and of the files' flags do not run: they know no arithmetic. An index
# beyond an array ends a test, as it does in the build with sanitizers: the compiler checks those of
# known length, guards in the memory those that a solve takes (SPRAG_GUARDED).
set -euo pipefail
usage() {
    sed -n '2,${/^#/!q;s/^# \{0,1\}//p}' "$0"
}
top=$(cd "$(dirname "$0")/../.." && pwd)
count=40 seed=1 limit=600 work='' temporary=0
while getopts hn:s:t:w: option; do
    case $option in
    h) usage && exit ;;
    n) count=$OPTARG ;;
    s) seed=$OPTARG ;;
    t) limit=$OPTARG ;;
    w) work=$OPTARG ;;
    *) usage >&2 && exit 2 ;;
    esac
done
shift $((OPTIND - 1))
if [ -z "$work" ]; then
    work=$(mktemp -d)
    temporary=1
fi
mkdir -p "$work" && work=$(cd "$work" && pwd)
clone=$work/clone build=$work/clone/build
export CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=1

# Copies the sources that differ, so that a second run builds little, and removes those that are gone.
copy_sources() {
    mkdir -p "$clone" "$work/fresh"
    (cd "$top" && git ls-files -co --exclude-standard -z | tar --null -T - -cf -) | tar -C "$work/fresh" -xf -
    (cd "$work/fresh" && find . -type f) | while IFS= read -r file; do
        if ! cmp -s "$work/fresh/$file" "$clone/$file"; then
            mkdir -p "$(dirname "$clone/$file")"
            cp -p "$work/fresh/$file" "$clone/$file" && touch "$clone/$file"
        fi
    done
    (cd "$clone" && find . -path ./build -prune -o -type f -print) | while IFS= read -r file; do
        [ -e "$work/fresh/$file" ] || rm "$clone/$file"
    done
    rm -rf "$work/fresh"
}

build_targets() {
    cmake --build "$build" -j2 --target "$@" >"$work/build.log" 2>&1
}

# Lines "SECONDS TEST" of all tests that pass, shortest first: processor time, which load hardly alters.
measure_tests() {
    local test seconds TIMEFORMAT='%U'
    ctest --test-dir "$build" -N -E '^(house|pages|page|install|symbols|hardening|locale)$' |
        sed -nE 's/ *Test +#[0-9]+: //p' >"$work/tests"
    while read -r -u5 test; do
        if seconds=$({ time ctest --test-dir "$build" -R "^$test\$" >"$work/tests.log" 2>&1; } 2>&1); then
            echo "$seconds $test"
        else
            echo "$test fails without a change" >&2
        fi
    done 5<"$work/tests" | sort -n >"$work/costs"
    [ -s "$work/costs" ] || exit 2
}

# Tokens that can change, as lines "FILE:LINE:COLUMN:OLD:NEW". Comments, strings and directives are
# masked. clang-format puts blanks around binary operators and none behind unary ones.
list_sites() {
    awk '
    BEGIN {
        n = split("< <= > >= == != && || + - * / += -= *= /=", token, " ")
        for (i = 1; i < n; i += 2) { becomes[token[i]] = token[i + 1]; becomes[token[i + 1]] = token[i] }
        becomes[">"] = ">="; becomes[">="] = ">"
        split("fmin fmax sin cos true false", word, " ")
        for (i = 1; i < 6; i += 2) { becomes[word[i]] = word[i + 1]; becomes[word[i + 1]] = word[i] }
        becomes["fabs"] = becomes["sqrt"] = becomes["!"] = becomes["unary -"] = ""
    }
    function mask(text,   out, at, c, quote) {
        out = ""
        for (at = 1; at <= length(text); at++) {
            c = substr(text, at, 1)
            if (quote == "" && substr(text, at, 2) == "//") { return out }
            if (quote != "") {
                if (c == "\\") { at++; out = out "_" } else if (c == quote) { quote = "" }
                c = "_"
            } else if (c == "\"" || c == "\047") { quote = c; c = "_" }
            out = out c
        }
        return out
    }
    # a < b ? a : b, SELECT(a < b, a, b), or the greater: of two that are equal, either is. a and b
    # may be sums: each part of what is before that begins an expression is tried.
    function picks(line, at,   before, x, y, behind, lanes, from) {
        before = substr(line, 1, at - 2)
        behind = substr(line, at + 2)
        match(behind, /^[^?,]*/)
        y = substr(behind, 1, RLENGTH)
        sub(/ $/, "", y)
        behind = substr(behind, length(y) + 1)
        for (from = 1; from <= length(before); from++) {
            x = substr(before, from)
            lanes = substr(before, 1, from - 1)
            if (x !~ /^[ ,(]/ && lanes ~ /(^ *|\(|[=,:?&|] |return )$/) {
                lanes = lanes ~ /(SELECT|CHOSEN)\($/
                if (ends(behind, (lanes ? ", " : " ? ") x (lanes ? ", " : " : ") y) ||
                    ends(behind, (lanes ? ", " : " ? ") y (lanes ? ", " : " : ") x)) { return 1 }
            }
        }
        return 0
    }
    function ends(text, start) {
        return index(text, start) == 1 && substr(text, length(start) + 1) ~ /^($|[;,)}])/
    }
    function site(at, old, new) { print FILENAME ":" FNR ":" at ":" old ":" new }
    FNR == 1 { directive = 0 }
    /^#/ || directive { directive = /\\$/; next }
    {
        line = mask($0)
        at = 1
        while (at <= length(line)) {
            rest = substr(line, at)
            before = substr(line, at - 1, 1)
            if (match(rest, /^[A-Za-z_][A-Za-z0-9_]*/)) {
                name = substr(rest, 1, RLENGTH)
                if (name in becomes) { site(at, name, becomes[name]) }
            } else if (match(rest, /^[0-9][0-9.e]*(e-[0-9]+)?/)) {
                # a factor
                if (substr(rest, RLENGTH + 1) ~ /^ \*/ || substr(line, 1, at - 1) ~ /[*\/] $/) {
                    number = substr(rest, 1, RLENGTH)
                    site(at, number, number == 1 ? 2 : number + 1)
                }
            } else if (match(rest, /^(!|-)[A-Za-z_(]/) && before ~ /[ (\[]/) {
                RLENGTH = 1
                site(at, substr(rest, 1, 1), "")
            } else if (match(rest, /^[-+*\/<>=!&|]+/)) {
                operator = substr(rest, 1, RLENGTH)
                if (before == " " && (substr(rest, RLENGTH + 1) ~ /^( |$)/) && operator in becomes &&
                    !(operator ~ /^[<>]$/ && picks(line, at))) {
                    site(at, operator, becomes[operator])
                }
                RLENGTH = length(operator)
            } else { RLENGTH = 1 }
            at += RLENGTH
        }
    }' "$@"
}

# Park and Miller: the same order with every awk.
shuffle() {
    awk -v seed="$seed" '
        BEGIN { x = seed * 7919 % 2147483646 + 1; for (i = 0; i < 10; i++) x = x * 16807 % 2147483647 }
        { x = x * 16807 % 2147483647; printf "%010d %s\n", x, $0 }' | sort | cut -d' ' -f2-
}

# Compiles the mutant once more, with these flags besides.
compile() { # FLAG...
    (cd "$build" && LC_ALL=C sh -c "$(ninja -t commands "$target" | tail -1) $*")
}

# Is it floating-point numbers that the comparison at this place compares, and none of them written
# there? The compiler warns of such ones behind `==`.
compares_computed() { # FILE LINE COLUMN OLD
    local literal='-?[0-9][0-9.]*(e-?[0-9]+)?' line
    [[ $4 =~ ^[\<\>]=?$ ]] || return 1
    line=$(sed -n "$2p" "$work/original")
    if [[ ${line:$3+${#4}-1} =~ ^\ $literal($|[\;,\)]|\ [\&\|?:]) ]] ||
        [[ ${line:0:$3-1} =~ (^|[\(!]|[,=?:\&\|]\ )$literal\ $ ]]; then
        return 1
    fi
    mutate "$1" "$2" "$3" "$4" ==
    compile -fsyntax-only -Wfloat-equal 2>&1 |
        grep -q "$(basename "$1"):$2:$3: warning: comparing floating-point"
}

mutate() { # FILE LINE COLUMN OLD NEW
    awk -v line="$2" -v at="$3" -v old="$4" -v new="$5" '
        NR == line { $0 = substr($0, 1, at - 1) new substr($0, at + length(old)) }
        { print }' "$work/original" >"$clone/$1"
}

# Does mutants.txt list this change of a line?
is_equivalent() { # FILE LINE
    above=$(sed -n "$(($2 - 1))s/^ *//p" "$1") before=$(sed -n "$2s/^ *//p" "$work/original") \
        after=$(sed -n "$2s/^ *//p" "$1") awk -v RS= -v FS='\n' -v file="$1" '
        $1 == file && $2 == "  " ENVIRON["above"] && $3 == "- " ENVIRON["before"] && $4 == "+ " ENVIRON["after"] {
            found = 1
        }
        END { exit !found }' test/scripts/mutants.txt
}

object_of() {
    find "$build/$(dirname "$1")/CMakeFiles" -name "$(basename "$1").o" | head -1
}

passes() { # SECONDS TEST
    local limit run=(ctest --test-dir "$build" -R "^$2\$")
    [ "$2" != bits ] || run=(env MALLOC_PERTURB_=165 "$build/bits" -1)
    limit=$(awk -v cost="$1" 'BEGIN { print int(4 * cost + 20) }')
    (
        ulimit -t "$limit" -v 4000000 -f 4000000 -c 0
        timeout -k 10 $((20 * limit)) "${run[@]}" >"$work/test.log" 2>&1 || [ $? = 77 ] # skipped
    ) 2>/dev/null # that a signal ended it
}

# Lines with the tests of this source's folder, and of the plugin's methods that step it.
related() {
    local plugin
    (cd "$clone/test/unit/$(dirname "$1")" 2>/dev/null && ls | sed -n 's/^\(test_.*\)\.c$/\1/p; s/^test_\(.*\)\.sh$/\1/p') || true
    case $(dirname "$1") in
    solvers/compliant | solvers/ess) plugin='test_(method_ess.*|bounces|stiffness|linearize)' ;;
    */frame | solvers/advance | solvers/toi) plugin='test_(method_advance.*|method_ess.*|linearize.*|spin|swings)' ;;
    solvers/geometry) plugin='test_(geoms|collide|speculative|method_advance)' ;;
    adapters/collision) plugin='test_(collide|speculative|contact_source|meshes|record|method_advance)' ;;
    plugin/collision) plugin='test_(collide|contact_source|speculative)' ;;
    plugin/report) plugin='test_record.*|reports|refusals' ;;
    plugin/record) plugin='test_(csv|export|film)' ;;
    plugin/command | plugin/compare) plugin='test_(say|yardstick|compare)|refusals|output' ;;
    plugin/base | plugin/world) plugin='test_(report|world|memory)' ;;
    adapters/engine) plugin='test_(step|world|memory|preload)' ;;
    *) plugin='test_(step|linearize|stiffness|surface|spin|swings|speculative|many_contacts|loads|random)' ;;
    esac
    awk '{ print $2 }' "$work/costs" | grep -xE "$plugin"
}

# Lines "RANK SECONDS TEST" of what runs for a mutant of this source, until it takes `limit` seconds:
# bits (rank 2), its own tests (1), the others (0), the shortest of a rank first.
choose_tests() {
    related "$1" | awk -v limit="$limit" '
        FILENAME == "-" { rank[$1] = 1; next }
        { cost[++n] = $1; test[n] = $2 }
        END {
            rank["bits"] = 2
            for (first = 2; first >= 0; first--) {
                for (i = 1; i <= n; i++) {
                    if (rank[test[i]] + 0 == first && spent < limit) {
                        spent += cost[i]
                        print first, cost[i], test[i]
                    }
                }
            }
        }' - "$work/costs"
}

# The test that kills the mutant of this source, or nothing.
killer() {
    local rank cost test targets built=''
    choose_tests "$1" >"$work/chosen"
    while read -r -u4 rank cost test; do
        targets='all tests'
        if [ "$rank" != 0 ] && [[ $test =~ ^(bits$|test_) ]]; then
            targets=$test
        fi
        # shellcheck disable=SC2086 # a list
        [ "$targets" = "$built" ] || build_targets $targets || { echo build && return; }
        built=$targets
        passes "$cost" "$test" || { echo "$test" && return; }
    done 4<"$work/chosen"
}

# A signal waits for the build or test under way, so that no object of a mutant outlives it.
restore() {
    if [ -n "${file:-}" ] && [ -e "$work/original" ]; then
        cp "$work/original" "$clone/$file"
    fi
    [ "$temporary" = 0 ] || rm -rf "$work"
}
trap restore EXIT
trap 'exit 2' INT TERM

copy_sources
if [ ! -e "$build/build.ninja" ]; then
    launcher=$(command -v ccache || true)
    cmake -G Ninja -S "$clone" -B "$build" -DCMAKE_C_FLAGS=-DSPRAG_GUARDED=1 ${launcher:+-DCMAKE_C_COMPILER_LAUNCHER=ccache} >"$work/build.log"
fi
build_targets all bits
if [ ! -s "$work/costs" ]; then
    build_targets all tests
    measure_tests
fi
cd "$clone"
# The costs may be those of other sources.
if grep -q ' bits$' "$work/costs" && ! passes 100 bits; then
    echo 'bits fails without a change' >&2
    exit 2
fi
if [ $# = 0 ]; then
    mapfile -t sources < <(find solvers adapters plugin -name '*.c' | sort)
    set -- "${sources[@]}"
fi
declare -A round=(['<']='>=' ['<=']='>' ['>']='<=' ['>=']='<')
list_sites "$@" | shuffle >"$work/sites"
: >"$work/survivors"
made=0 survived=0 equivalent=0
while [ "$made" -lt "$count" ] && IFS=: read -r -u3 file line column old new; do
    cp "$file" "$work/original"
    object=$(object_of "$file")
    cp "$object" "$work/object"
    target=$(realpath --relative-to="$build" "$object")
    if compares_computed "$file" "$line" "$column" "$old"; then
        new=${round[$old]}
    fi
    mutate "$file" "$line" "$column" "$old" "$new"
    if is_equivalent "$file" "$line"; then
        equivalent=$((equivalent + 1))
        verdict='changes nothing (mutants.txt)'
    elif ! build_targets "$target"; then
        verdict='does not compile'
    elif cmp -s "$object" "$work/object"; then
        verdict='same object'
    else
        made=$((made + 1))
        compile -fsanitize=bounds -fsanitize-undefined-trap-on-error >"$work/build.log" 2>&1
        verdict=$(killer "$file")
        if [ -z "$verdict" ]; then
            survived=$((survived + 1))
            verdict=SURVIVED
            diff -U2 --label "$file" --label mutant "$work/original" "$file" >>"$work/survivors" || true
        fi
    fi
    echo "$file:$line:$column: '$old' -> '$new': $verdict"
    cp "$work/original" "$file" && rm "$work/original"
done 3<"$work/sites"
cat "$work/survivors"
echo "$survived of $made mutants survived, of $(wc -l <"$work/sites") possible; left out: $equivalent"
[ $((20 * survived)) -le "$made" ]
