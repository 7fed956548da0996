#!/bin/bash
# pages.sh BUILD [PAGE...] - does what the pages (*.md) say, in a folder that looks like a clone with its
# build in build/. Exit code 1 if something on a page is not so. All pages without PAGE.
#
#   ```console  Lines "$ COMMAND" run, all of a page in one shell; a line that ends in \ goes on. Lines
#               below a command are its output: each must occur in it, "..." stands for anything, blanks for any number of them.
#               "  # REMARK" behind a command: `N seconds`, `N minutes`, `a window`, `as root` or
#               `packaging` in the remark: it does not run, but its program, its options and the
#               targets that it builds must exist. `needs PACKAGE...`
#               (up to a semicolon): it runs where these Debian packages are installed.
#   ```c        Compiled; without main, as the body of one. "// NAME.c: ..." as first line saves it.
#   ```python   Compiled, if there is a python3. "# NAME.py: ..." saves it; ```cmake likewise.
#   ```sh       Run by .ci/run.     ```text, ```csv  Shown only. Other kinds are errors.
#
# Links must lead to a file and heading, options in backticks must be among `sprag options`, paths in
# backticks must exist. plugin/README.md must have every option, and every column of the statistics.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset SPRAG_OPTIONS SPRAG_STATS LD_PRELOAD LD_LIBRARY_PATH PKG_CONFIG_PATH
export LC_ALL=C.UTF-8
failures=0 ran=0 checked=0
page=''

fail() {
    echo "$page: $*" >&2
    failures=$((failures + 1))
}

# A process costs ten times what the shell itself takes to look at a line.
declare -A options installed help headings # sets of words; help of a command; headings of a file
while IFS=' ' read -r word state; do
    [ "$state" != 'install ok installed' ] || installed[$word]=1
done < <(dpkg-query -W -f '${Package} ${Status}\n' 2>/dev/null || true)

contents() { # VARIABLE FILE
    IFS= read -r -d '' "$1" 2>/dev/null <"$2" || true
}

# Folder that looks like a clone.
clone() {
    mkdir -p "$1/home"
    local entry entries=()
    for entry in "$top"/* "$top"/.clang-*; do
        [[ ${entry##*/} == build* ]] || entries+=("$entry")
    done
    ln -s "${entries[@]}" "$1/"
    ln -s "$build" "$1/build"
    printf '#!/bin/sh\nexec build/host step 10\n' >"$1/program"
    chmod +x "$1/program"
}

# Blocks of a page as files N.KIND.
split_blocks() {
    awk -v out="$2" '
        /^ *```/ {
            if (file) { close(file); file = ""; next }
            kind = $0
            sub(/^ *```/, "", kind)
            match($0, /^ */)
            indent = RLENGTH
            file = sprintf("%s/%03d.%s", out, ++n, kind == "" ? "none" : kind)
            printf "" >file
            next
        }
        file { print substr($0, indent + 1) >file }
        END { if (file) print "block without end" >(out "/open") }' "$1"
}

# Commands of a console block: N.cmd, N.remark, N.out in the folder, N from $3 on; prints the next N.
split_commands() {
    awk -v out="$2" -v n="$3" '
        function begin(line) {
            n++
            command = line
        }
        function finish(   at) {
            remark = ""
            at = match(command, /  # /)
            if (at) {
                remark = substr(command, at + 4)
                command = substr(command, 1, at - 1)
            }
            print command >sprintf("%s/%03d.cmd", out, n)
            print remark >sprintf("%s/%03d.remark", out, n)
            printf "" >sprintf("%s/%03d.out", out, n)
        }
        goes_on { command = command "\n" $0; goes_on = /\\$/; if (!goes_on) finish(); next }
        /^\$ / { begin(substr($0, 3)); goes_on = /\\$/; if (!goes_on) finish(); next }
        n { print >sprintf("%s/%03d.out", out, n); next }
        { print "output before a command" >(out "/odd") }
        END { print n }' "$1"
}

# ---- commands that do not run

# A word of a command that begins with -- must be in the text.
has_options() { # COMMAND WORDS TEXT
    local word
    for word in $2; do
        [[ $word != --* || $3 == *"${word%%=*}"* ]] || fail "no option ${word%%=*}: $1"
    done
}

# A target that a command builds must be among the build's.
has_targets() { # COMMAND WORDS
    local words word here=0
    find_help cmake --build build --target help
    read -r -a words <<<"$2"
    for word in "${words[@]}"; do
        case $word in
        --target) here=1 ;;
        -*) here=0 ;;
        *) [ $here = 0 ] || [[ ${help[cmake --build build --target help]} =~ (^|[^a-z_])"$word"($|[^a-z_]) ]] ||
            fail "no target $word: $1" ;;
        esac
    done
}

# The help of a COMMAND..., kept.
find_help() {
    [ -n "${help[$*]:-}" ] || help[$*]=$("$@" 2>&1) || true
}

check_command() {
    local command=$1 remark=$2 part words program text
    text=${command//&&/$'\n'}
    text=${text// | /$'\n'}
    while read -r part; do
        read -r -a words <<<"$part"
        while [[ ${words[0]:-} == *=* ]]; do
            words=("${words[@]:1}")
        done
        program=${words[0]:-}
        case $program in
        '' | cd | export) ;;
        cmake) [[ $remark == *needs* ]] || has_targets "$command" "$part" ;;
        build/sprag)
            find_help build/sprag "${words[1]}" --help
            [[ ${help[build/sprag ${words[1]} --help]} == Usage:* ]] || fail "no sprag ${words[1]}: $command"
            [ "${words[1]}" = exec ] || has_options "$command" "$part" "${help[build/sprag ${words[1]} --help]}"
            ;;
        build/bench)
            [ -x build/bench ] && find_help build/bench || find_help cat test/bench/bench.c
            text=${help[build/bench]:-${help[cat test/bench/bench.c]:-}}
            [[ $text =~ (^|[^A-Za-z0-9_])"${words[1]}"($|[^A-Za-z0-9_]) ]] || fail "no bench ${words[1]}: $command"
            has_options "$command" "$part" "$text"
            ;;
        */*)
            if [ ! -x "$program" ]; then
                # a command before, which needs the same packages, makes it
                { [[ $remark == *needs* ]] && grep -qF -e "-o ${program#./} " "$page"; } ||
                    fail "no $program: $command"
            elif [[ $program == *.sh ]]; then
                contents text "$program"
                has_options "$command" "$part" "$text"
            fi
            ;;
        *)
            type -P "$program" >/dev/null || [[ $remark == *needs* || $remark == *'as root'* ]] ||
                fail "no program $program: $command"
            ;;
        esac
    done <<<"${text//;/$'\n'}"
    checked=$((checked + 1))
}

# true: the command runs here
runs_here() {
    local package packages
    [[ $1 =~ (second|minute|a window|as root|packaging) ]] && return 1
    [[ $1 == *'needs '* ]] || return 0
    packages=${1##*needs }
    for package in ${packages%%;*}; do
        [ -n "${installed[$package]:-}" ] || return 1
    done
}

# ---- a page

# Each line of the page must occur in the output.
check_output() { # PAGE-FILE OUTPUT-FILE COMMAND
    local missing
    missing=$(awk '
        { gsub(/  +/, " ") }
        FILENAME == ARGV[1] { got[FNR] = $0; lines = FNR; next }
        $0 == "" || $0 == "..." { next }
        {
            said = pattern = $0
            gsub(/[][\\.*^$(){}|+?]/, "\\\\&", pattern)
            gsub(/\\\.\\\.\\\./, ".*", pattern)
            found = 0
            for (i = 1; i <= lines && !found; i++) { found = got[i] ~ "^" pattern "$" }
            if (!found) { print "output lacks \047" said "\047" }
        }' "$2" "$1")
    [ -z "$missing" ] || { fail "$missing: $3" && sed 's/^/    /' "$2" | tail -20 >&2; }
}

run_commands() {
    local commands=$1 n command remark code script=$1/script here=()
    echo 'set +e' >"$script"
    for n in "$commands"/*.cmd; do
        n=${n%.cmd}
        contents command "$n.cmd"
        contents remark "$n.remark"
        if runs_here "${remark%$'\n'}"; then
            here+=("$n")
            printf '{ %s} >%q 2>&1 </dev/null; echo $? >%q\n' "$command" "$n.got" "$n.code" >>"$script"
        else
            check_command "${command%$'\n'}" "$remark"
        fi
    done
    HOME=$PWD/home timeout 300 bash "$script" || fail "its commands take too long"
    for n in "${here[@]}"; do
        ran=$((ran + 1))
        contents command "$n.cmd"
        code=''
        contents code "$n.code"
        if [ "$code" != $'0\n' ]; then
            fail "ends with ${code:-no code}: $command"
            tail -20 "$n.got" 2>/dev/null | sed 's/^/    /' >&2
        elif [ -s "$n.out" ]; then
            check_output "$n.out" "$n.got" "$command"
        fi
    done
}

check_c() {
    local source=$1
    if ! grep -q '\bmain(' "$1"; then
        source=$1.whole.c
        {
            grep '^#include' "$1" || true
            printf '%s\n' '#include <ode/ode.h>' '#include <stdio.h>' 'dWorldID world;' \
                'dJointGroupID contacts;' 'dContact contact;' 'int main(void)' '{'
            grep -v '^#include' "$1"
            printf '%s\n' 'return 0;' '}'
        } >"$source"
    fi
    cc -xc -std=gnu17 -Wall -Wextra -Werror -fsyntax-only -Iplugin/base -Iplugin/record -Isolvers/base \
        -Isolvers/general "$source" || fail "C that does not compile: $(head -1 "$1")"
    checked=$((checked + 1))
}

check_python() {
    command -v python3 >/dev/null || return 0
    python3 -c 'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' "$1" ||
        fail "Python that does not compile: $(head -1 "$1")"
    checked=$((checked + 1))
}

# The name that the first line of a block gives it.
save_block() {
    local name
    IFS= read -r name <"$1" || true
    if [[ $name =~ ^(//|#)\ ([A-Za-z0-9_/]+\.(c|cc|py|txt)) ]]; then
        name=${BASH_REMATCH[2]}
        mkdir -p "$(dirname "$name")"
        cp "$1" "$name"
    fi
}

# Headings of a file as the part of a link behind #, a line each.
find_headings() {
    [ -n "${headings[$1]:-}" ] || headings[$1]=$'\n'$(awk '/^ *```/ { inside = !inside }
        !inside && /^#+ / { sub(/^#+ /, ""); print tolower($0) }' "$1" | sed 's/[^a-z0-9 _-]//g; s/ /-/g')$'\n'
}

check_words() {
    local link file anchor word folder=.
    [[ $page != */* ]] || folder=${page%/*}
    while read -r link; do
        case $link in
        http*) continue ;;
        esac
        file=${link%%#*} anchor=''
        [[ $link == *#* ]] && anchor=${link#*#}
        file=$top/$folder/${file:-${page##*/}}
        if [ ! -e "$file" ]; then
            fail "a link to $link, which is not there"
        elif [ -n "$anchor" ]; then
            find_headings "$file"
            [[ ${headings[$file]} == *$'\n'"$anchor"$'\n'* ]] || fail "a link to $link, and no such heading"
        fi
    done < <(grep -oE '\]\([^) ]+\)' "$top/$page" | sed 's/^](//; s/)$//')
    while read -r word; do
        [ -n "${options[$word]:-}" ] || fail "option $word is not among 'sprag options'"
    done < <(grep -oE '`[^`]+`' "$top/$page" | grep -oE '\b(stribeck|advance|ess|ode)\.[a-z_]+' |
        grep -vE '\.(c|h|md)$' | sort -u)
    while read -r word; do
        compgen -G "$top/$word" >/dev/null || fail "$word does not exist"
    done < <(grep -oE '`(solvers|adapters|plugin|models|test)/[A-Za-z0-9_./*-]+`' "$top/$page" |
        tr -d '`' | sort -u)
}

check_page() {
    page=$1
    local folder block count=0
    folder=$work/$(tr / _ <<<"$page")
    mkdir -p "$folder/blocks" "$folder/commands"
    clone "$folder/clone"
    cd "$folder/clone"
    split_blocks "$top/$page" "$folder/blocks"
    [ ! -e "$folder/blocks/open" ] || fail "a block has no end"
    for block in "$folder"/blocks/*.*; do
        [ -e "$block" ] || continue
        case $block in
        *.console) count=$(split_commands "$block" "$folder/commands" "$count") ;;
        *.c) save_block "$block" && check_c "$block" ;;
        *.python) save_block "$block" && check_python "$block" ;;
        *.cmake) save_block "$block" ;;
        *.sh | *.text | *.csv) ;;
        *) fail "a block of a kind that this test does not know: $(basename "$block")" ;;
        esac
    done
    [ ! -e "$folder/commands/odd" ] || fail "a console block that does not begin with a command"
    [ "$count" = 0 ] || run_commands "$folder/commands"
    check_words
    cd "$work"
}

# plugin/README.md has every option, and its statistics are the columns of a file.
check_reference() {
    page=plugin/README.md
    local word text
    contents text "$top/$page"
    for word in "${!options[@]}"; do
        [[ $text == *"\`$word\`"* ]] || fail "does not describe the option $word"
    done
    SPRAG_STATS=$work/steps.csv "$build/sprag" run slope --seconds 0.02 >/dev/null
    head -1 "$work/steps.csv" | tr , '\n' | sort >"$work/columns"
    awk '/^## / { inside = /^## Statistics/ } inside && /^\| `/' "$top/$page" | cut -d'|' -f2 |
        grep -oE '`[a-z_]+`' | tr -d '`' | sort >"$work/described"
    while read -r word; do
        fail "statistics, column $word: $word"
    done < <(diff "$work/columns" "$work/described" |
        sed -n 's/^< \(.*\)/\1 is not described/p; s/^> \(.*\)/\1 does not exist/p')
}

while read -r word _; do
    [[ ! $word =~ ^(stribeck|advance|ess|ode)\.[a-z_]+ ]] || options[${BASH_REMATCH[0]}]=1
done < <("$build/sprag" options)
[ "${#options[@]}" -gt 0 ]
if [ $# = 0 ]; then
    cd "$top"
    mapfile -t pages < <(find . -name '*.md' -not -path './build*' | sed 's,^\./,,' | sort)
    set -- "${pages[@]}"
    check_reference
    page=README.md
    [ "$(wc -l <"$page")" -le 200 ] && [ "$(wc -c <"$page")" -le 12000 ] ||
        fail "longer than 200 lines or 12000 characters"
fi
for page in "$@"; do
    check_page "$page"
done
echo "$# pages: $ran commands ran, $checked commands and snippets checked, $failures failures"
[ "$failures" = 0 ] && [ "$ran" -gt 0 ]
