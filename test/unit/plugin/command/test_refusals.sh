#!/bin/bash
# What the command refuses: one line on standard error, nothing on standard output, and the exit code
# that the help names; also with names that are long, empty, or hold line breaks and control
# characters.
#
#     test_refusals.sh <build>
set -u
. "$(dirname "$0")/../../../support/start.sh"
sprag=$build/sprag

# The shell itself reads what a command said: this runs hundreds of times.
refuses() { # CODE COMMAND...
    local code=$1 got words text lines
    shift
    "$@" >out 2>err </dev/null
    got=$?
    printf -v words '%q ' "$@"
    words=${words:0:150}
    local LC_ALL=C # bytes
    IFS= read -r -d '' text <err
    mapfile -t lines <err
    [ $got = "$code" ] || fail "exit code $got instead of $code: $words"
    [ "${#lines[@]}" = 1 ] && [ "$text" = "${lines[0]}"$'\n' ] || fail "${#lines[@]} lines: $words: ${text:0:1000}"
    [ "${#text}" -lt 1200 ] || fail "${#text} bytes: $words"
    [[ ${text%$'\n'} != *[^\ -~$'\200'-$'\377']* ]] || fail "control characters: $(cat -v err)"
    [[ $text == 'sprag: '* ]] || fail "no word of sprag: $words: $text"
    [ ! -s out ] || fail "output: $words: $(head -c 200 out)"
}

"$sprag" run slope --seconds 0.1 --record ok.sprec >/dev/null || fail "no recording"

long=$(head -c 100000 /dev/zero | tr '\0' x)
for name in $'two\nlines \033[31m \302\233, no UTF-8: \377' "$long" nothing; do
    refuses 2 "$sprag" "$name"
    for command in run compare 'compare slope' 'compare --tune' 'compare --all' list options 'dump x.json'; do
        # shellcheck disable=SC2086 # words
        refuses 2 "$sprag" $command "$name"
    done
    for option in -m --method -o --step --seconds "--$name"; do
        refuses 2 "$sprag" run slope "$option" "$name"
    done
    refuses 2 env "SPRAG_OPTIONS=$name=1" "$sprag" run slope
    refuses 2 "$sprag" run slope -o "method=$name"
    for option in --every --under --steps --seconds --patience -m; do
        refuses 2 "$sprag" compare "$option" "$name" -- true
    done
    refuses 2 "$sprag" dump x.json --step "$name" slope
    refuses 2 "$sprag" replay ok.sprec -m "$name"
    refuses 127 "$sprag" exec "$name"
    refuses 127 "$sprag" compare -- "$name"
    refuses 127 "$sprag" dump x.json -- "$name"
    refuses 1 "$sprag" export "$name" --count
    refuses 1 "$sprag" replay "$name"
    refuses 1 "$sprag" report page.html "$name"
    refuses 1 "$sprag" report page.html --json "$name"
done
refuses 1 "$sprag" compare --record "$long" -- true
refuses 1 "$sprag" run slope --record "$long"


# A file that holds something else is left alone.
echo mine >mine
for option in --stats --record; do
    refuses 1 "$sprag" exec "$option" mine true
done
refuses 1 "$sprag" run slope --record mine
refuses 1 "$sprag" compare --record mine -- true
refuses 1 "$sprag" replay ok.sprec --record mine
refuses 1 "$sprag" run slope --report mine
refuses 1 "$sprag" compare --report mine -- true
refuses 1 "$sprag" compare --json mine -- true
for file in mine ok.sprec; do
    refuses 1 "$sprag" report "$file" ok.sprec
done
[ "$(cat mine)" = mine ] || fail "mine: $(cat mine)"

# An empty name is none.
for words in 'run' 'compare' 'run slope -m' 'run slope --step' 'run slope --record' 'run slope --report' \
    'compare --all' 'exec --stats' 'exec --record' 'export ok.sprec --csv' 'export ok.sprec --gltf'; do
    # shellcheck disable=SC2086 # words
    refuses 2 "$sprag" $words ''
done
refuses 2 "$sprag" compare --json '' -- true
refuses 127 "$sprag" exec ''

refuses 2 "$sprag" compare --all slope
refuses 2 "$sprag" compare --all -- true
refuses 2 "$sprag" run slope stack
refuses 2 "$sprag" run slope -m ode,stribeck
refuses 2 "$sprag" run slope -m ess -o method=ess
refuses 2 "$sprag" exec -m stribeck -o effort=exact,method=ess true
refuses 2 "$sprag" compare -o method=ess -- true
for words in run compare exec export replay report dump 'run slope -z' 'run slope -m' 'exec -z true' 'exec --stats' \
    'dump x.json --step 0 slope' 'export ok.sprec' 'run pile:0' 'run pile:1e3' 'run pile:99999999999' 'run pile:' \
    'run slope --step 1e-9' 'run slope --step 1,5' 'run slope --seconds nan' 'run slope --seconds 0x10'; do
    # shellcheck disable=SC2086 # words
    refuses 2 "$sprag" $words
done

for words in 'help nothing' 'help exec run' '--version now' 'compare slope --every 5' 'run slope --steps 5' \
    'compare --steps 1.5 -- true' 'compare --every 2.5 -- true' \
    'export ok.sprec ok.sprec --count' 'export --count' 'replay ok.sprec ok.sprec' 'report page.html' 'report - ok.sprec' \
    'dump --step 3 slope' 'dump x.json' 'dump x.json slope stack' 'dump x.json --step 1x slope' 'dump x.json --'; do
    # shellcheck disable=SC2086 # words
    refuses 2 "$sprag" $words
done
for command in exec compare run export report replay dump list options; do
    cmp -s <("$sprag" help $command) <("$sprag" $command --help) || fail "help $command"
done

# A name that is nearly that of a model, its size, and a program without --.
answers() { # MESSAGE COMMAND...
    local message=$1
    shift
    refuses 2 "$@"
    grep -qF -- "$message" err || fail "$*: $(cat err)"
}
for command in run compare 'compare --tune'; do
    # shellcheck disable=SC2086 # words
    {
        answers 'no model is called "stak"; did you mean stack?' "$sprag" $command stak
        answers 'no model is called "piel:50"; did you mean pile?' "$sprag" $command piel:50
        answers 'slope takes no size' "$sprag" $command slope:5
        answers 'the size of bowl is a whole number from 1 to 100000, as in bowl:60' "$sprag" $command bowl:x
        answers 'for a program: sprag exec PROGRAM, or sprag compare -- PROGRAM' "$sprag" $command ./program
    }
done

# An option that no method of the command heeds.
notes() { # NOTE COMMAND...
    local note=$1
    shift
    "$@" 2>err >out || fail "$*: $(cat err)"
    [ "$(cat err)" = "${note:+sprag: note: $note}" ] || fail "$*: $(cat err)"
}
notes 'advance.error has no effect under stribeck; methods that heed it: advance' "$sprag" run slope --seconds 0.1 -o advance.error=1e-4
notes 'ess.steps has no effect under these methods; methods that heed it: ess' "$sprag" compare slope --seconds 0.1 -o effort=exact,ess.steps=9
notes '' "$sprag" run slope --seconds 0.1 -o method=advance,advance.error=1e-4,effort=exact
notes '' "$sprag" compare slope --seconds 0.1 -o ode.erp=0.3,stribeck.arcs=1
"$sprag" compare -o ess.steps=9 -- true 2>err >out # which steps no world
grep -q '^sprag: note: ess.steps has no effect under these methods' err || fail "compare -o: $(cat err)"
"$sprag" compare -m stribeck -o ode.erp=0.3 -- true 2>err >out # of the program's own steps
grep -q 'note: ode.erp' err && fail "compare --under: $(cat err)"
notes '' "$sprag" exec -q -o advance.error=1e-4 true
printf '#!/bin/sh\n' >script && chmod +x script
SPRAG_OPTIONS=method=ode notes 'effort has no effect under ode; methods that heed it: stribeck, advance, ess' \
    "$sprag" exec -o effort=exact ./script

for words in 'exec --quiet=1 true' 'compare --quiet=1 -- true' 'run slope --json=x'; do
    # shellcheck disable=SC2086 # words
    refuses 2 "$sprag" $words
    grep -q 'takes no value' err || fail "$words: $(cat err)"
done
refuses 2 "$sprag" compare slope --every=5
grep -q 'for programs' err || fail "--every=5: $(cat err)"

# What fails later.
mkdir folder
refuses 126 "$sprag" exec "$work"
refuses 126 "$sprag" exec /etc/passwd
refuses 1 "$sprag" export folder --count
refuses 1 "$sprag" export /dev/null --count
refuses 1 "$sprag" export ok.sprec --csv missing/folder
refuses 1 "$sprag" export ok.sprec --gltf missing/file
deep=$(printf 'deep_folder/%.0s' {1..340}) # of 4080 letters: the names of its files are too long for a path
mkdir -p "$deep" && refuses 1 "$sprag" export ok.sprec --csv "${deep}folders"
refuses 1 "$sprag" export ok.sprec --gltf /dev/full
refuses 1 "$sprag" report missing/page.html ok.sprec
cp ok.sprec same.sprec
refuses 1 "$sprag" replay same.sprec --record same.sprec
refuses 1 "$sprag" replay ok.sprec --record folder
cmp -s ok.sprec same.sprec || fail "replay writes over its recording"

# A file for the end of a run is tried before the run.
for file in --json --report; do
    refuses 1 "$sprag" compare $file missing/file -- sh -c 'echo the program runs'
done
for words in 'run slope' 'compare slope' 'exec true' 'compare -- true'; do
    # shellcheck disable=SC2086 # words
    refuses 1 "$sprag" ${words%% *} --record missing/file ${words#* }
done
refuses 1 "$sprag" exec --stats folder sh -c 'echo the program runs'
refuses 1 "$sprag" run slope --report folder
for words in 'run slope' 'compare slope'; do # the file is opened, and cannot be written
    # shellcheck disable=SC2086 # words
    "$sprag" $words --seconds 0.1 --record /dev/full >out 2>err && fail "$words succeeds without its recording"
    grep -q '^sprag: cannot record to /dev/full: No space' err || fail "$words: $(cat err)"
done
for words in list options --help --version 'run slope --seconds 0.1' 'run slope --seconds 0.1 --json' 'export ok.sprec --count'; do
    # shellcheck disable=SC2086 # words
    "$sprag" $words >/dev/full 2>err && fail "$words succeeds without its output"
    [ "$(cat err)" = 'sprag: cannot write to standard output' ] || fail "$words: $(cat err)"
done
for columns in -1 0 99999999999999999999 wide; do
    COLUMNS=$columns "$sprag" compare slope --seconds 0.1 >out 2>err && [ -s out ] && [ ! -s err ] || fail "COLUMNS=$columns: $(cat err)"
done

[ ! -e "$work/failed" ]
