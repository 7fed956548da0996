#!/bin/bash
# sprag on other ODEs: builds ODE from its source with other flags, options and releases, with a
# private struct or function altered, and as an archive; then steps test/programs/host.c on each with sprag
# and without. Each is either stepped by sprag or passed through untouched, with one line that says
# why. Prints a row per ODE; ends with 1 if one is not as expected.
#
#     test/scripts/odes.sh [-o <directory>] [-s <source>]... [<build> [<name>...]]
#     test/scripts/odes.sh [-o <directory>] -i <prefix>... [<build>]
#
# -s: an unpacked source of ODE, once per release; without, apt-get fetches what Debian has. The
# ODEs stay in <directory> (<build>/odes) for the next time. All take an hour, most of it the
# compiler's. Needs g++, clang and libccd-dev besides the packages of README.md.
#
# -i: an ODE that is installed there (lib/libode.so, lib/pkgconfig, include/ode), of any release or
# fork, instead of those that are built. Besides host.c, all models are then stepped: method=ode, recorded, must
# give stock's bits, and each method must step every island; the row counts the models that end with
# the bits of fingerprint.txt, by method. Takes 5 minutes an ODE.
set -eu
. "$(dirname "$0")/help.sh"
here=$(cd "$(dirname "$0")/../.." && pwd)
out='' sources=() installed=()
while getopts o:s:i: option; do
    case $option in
    o) out=$OPTARG ;;
    s) sources+=("$OPTARG") ;;
    i) installed+=("$(cd "$OPTARG" && pwd)") ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
build=$(cd "${1:-$here/build}" && pwd)
shift $(($# > 0))
wanted=" $* "
out=${out:-$build/odes}
mkdir -p "$out"
out=$(cd "$out" && pwd)
export LC_ALL=C
unset SPRAG_OPTIONS SPRAG_STATS LD_PRELOAD LD_LIBRARY_PATH
failed=0

# ---- sources: <directory>/source-<release>, pristine but for the header that would win over the
# one that the build makes

release_of() {
    sed -n 's/^AC_INIT(\[ODE\], *\[\([0-9.]*\)\].*/\1/p' "$1/configure.ac"
}

fetch() { # <suite>
    local at="$out/fetch-$1" release
    mkdir -p "$at/lists/partial" "$at/cache/archives/partial" "$at/parts"
    echo "deb-src http://deb.debian.org/debian $1 main" >"$at/parts/source.list"
    (
        cd "$at"
        options="-qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=$at/parts
            -o Dir::State::lists=$at/lists -o Dir::Cache=$at/cache -o APT::Sandbox::User=root"
        # shellcheck disable=SC2086
        apt-get $options update
        # shellcheck disable=SC2086
        apt-get $options --download-only --only-source source ode
        mkdir -p unpacked
        tar -xzf ode_*.orig.tar.gz -C unpacked --strip-components=1
    ) >"$at/log" 2>&1 || {
        echo "# no source of ODE in Debian's $1: $at/log"
        return 0
    }
    sources+=("$at/unpacked")
}

prepare_sources() {
    if [ ${#sources[@]} -eq 0 ]; then
        fetch bookworm
        fetch trixie
    fi
    for source in "${sources[@]}"; do
        local to
        to=$out/source-$(release_of "$source")
        if [ ! -d "$to" ]; then
            cp -r "$source" "$to.new"
            rm -f "$to.new/include/ode/precision.h" "$to.new/include/ode/version.h"
            mv "$to.new" "$to"
        fi
    done
}

# ---- one ODE

# Options of variant: release, compiler, what is altered in the source, CMake's own.
variant() { # <name> <expected> [-r release] [-c compiler] [-a 'sed-script file']... [-D...]
    local name=$1 expected=$2 release=0.16.2 compiler=g++ alter=() options=() source
    shift 2
    while [ $# -gt 0 ]; do
        case $1 in
        -r) release=$2 && shift 2 ;;
        -c) compiler=$2 && shift 2 ;;
        -a) alter+=("$2" "$3") && shift 3 ;;
        *) options+=("$1") && shift ;;
        esac
    done
    case $wanted in "  " | *" $name "*) ;; *) return 0 ;; esac
    source=$out/source-$release
    if [ ! -d "$source" ]; then
        echo "# $name: no source of ODE $release"
        return 0
    fi
    at=$out/$name ode=$at
    if [ ! -e "$at/done" ]; then
        make_ode "$source" "$compiler" || {
            printf '%-18s %s\n' "$name" "DOES NOT BUILD: $at/log"
            failed=1
            return 0
        }
    fi
    try "$name" "$expected"
}

make_ode() { # <source> <compiler>
    rm -rf "$at"
    mkdir -p "$at"
    local source=$1
    if [ ${#alter[@]} -gt 0 ]; then
        cp -r "$1" "$at/source"
        source=$at/source
        for ((i = 0; i < ${#alter[@]}; i += 2)); do
            sed -i -E "${alter[i]}" "$source/${alter[i + 1]}"
            if cmp -s "$source/${alter[i + 1]}" "$1/${alter[i + 1]}"; then
                echo "nothing altered in ${alter[i + 1]}" >"$at/log"
                return 1
            fi
        done
    fi
    cmake -S "$source" -B "$at/build" -DCMAKE_CXX_COMPILER="$2" -DODE_WITH_DEMOS=OFF \
        -DODE_WITH_TESTS=OFF -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1 \
        -DCMAKE_INSTALL_PREFIX="$at" -DCMAKE_POLICY_VERSION_MINIMUM=3.5 "${options[@]}" \
        >"$at/log" 2>&1 &&
        cmake --build "$at/build" -j2 >>"$at/log" 2>&1 &&
        cmake --install "$at/build" >>"$at/log" 2>&1 &&
        rm -rf "$at/build" "$at/source" && touch "$at/done"
}

# The flags to compile with this ODE's own headers; and what host.c and the models need to know of
# older ones.
flags_of_ode() {
    PKG_CONFIG_PATH=$ode/lib/pkgconfig pkg-config --cflags ode
    if [ -e "$ode/lib/libode.so" ]; then
        has dThreadingAllocateSelfThreadedImplementation || echo -DWITHOUT_THREADS
        has dJointSetHinge2Axes || echo -DWITHOUT_HINGE2_AXES
    fi
}

has() { # <function>
    nm -D "$ode/lib/libode.so" | grep -q " T $1\$"
}

# A program as its user would build it: by this ODE's own headers and flags.
make_host() {
    local flags
    flags=$(flags_of_ode)
    if [ -e "$ode/lib/libode.so" ]; then
        # shellcheck disable=SC2086
        gcc -o "$at/host" $flags "$here/test/programs/host.c" -L"$ode/lib" -lode -Wl,-rpath,"$ode/lib" -lm \
            -lpthread -ldl
    else
        # shellcheck disable=SC2086
        gcc -o "$at/host" $flags "$here/test/programs/host.c" $wrap "$build/libsprag.a" "$ode/lib/libode.a" \
            -lccd -lstdc++ -lamd -lm -lpthread -ldl
    fi
}
wrap=$(sed -n 's/^wrap=//p' "$build/plugin/library/sprag.pc")

run() { # [NAME=value...] -- <arguments of host>: into $at/run.out, run.err
    local environment=()
    while [ "$1" != -- ]; do
        environment+=("$1")
        shift
    done
    shift
    (cd "$at" && env "${environment[@]}" ./host "$@" >run.out 2>run.err)
}

# Where everything is, to 1e-6 m: of Debian's ODE under sprag, to compare with.
places_of_debian() { # <stepper>
    LD_PRELOAD=$build/libsprag.so "$build/host" "$1" 40 places
}

differs() {
    verdict="$1"
    failed=1
}

try() { # <name> <expected>: steps, or a part of the reason why not
    local preload='' verdict='' stepped='' stepper mode
    make_host >"$at/host.log" 2>&1 || {
        printf '%-18s %s\n' "$1" "NO HOST: $at/host.log"
        failed=1
        return 0
    }
    [ ! -e "$ode/lib/libode.so" ] || preload=LD_PRELOAD=$build/libsprag.so
    for stepper in step quick; do
        for mode in random callbacks again places chain; do
            # In an archive sprag cannot be left away; method=ode is stock, by the tests.
            if [ -n "$preload" ]; then
                run -- "$stepper" 40 "$mode" || differs "stock fails in $stepper $mode"
            else
                run SPRAG_OPTIONS=method=ode -- "$stepper" 40 "$mode"
            fi
            mv "$at/run.out" "$at/stock.out"
            run $preload SPRAG_OPTIONS=method=ode -- "$stepper" 40 "$mode" ||
                differs "method=ode fails in $stepper $mode"
            cmp -s "$at/run.out" "$at/stock.out" || differs "method=ode is not stock in $mode"
            grep -q sprag: "$at/run.err" && differs "method=ode says $(tail -1 "$at/run.err")"
            for method in stribeck advance ess; do
                try_method "$2" || break 3
            done
        done
    done
    if [ -n "$verdict" ] || [ "$2" != models ]; then
        printf '%-18s %s\n' "$1" "${verdict:-$stepped}"
    else
        try_models "$1"
    fi
}

try_method() { # <expected>
    rm -f "$at/stats"
    run $preload SPRAG_OPTIONS=method=$method SPRAG_STATS="$at/stats" -- "$stepper" 40 "$mode" || {
        differs "$method fails in $stepper $mode: $(tail -1 "$at/run.err")"
        return 1
    }
    local said
    said=$(grep -c sprag: "$at/run.err" || true)
    if [ "$1" = steps ] || [ "$1" = models ]; then
        if grep -q 'this ODE' "$at/run.err" || [ ! -s "$at/stats" ]; then
            differs "not stepped by $method: $(tail -1 "$at/run.err")"
            return 1
        fi
        if [ $method = stribeck ] && [ "$mode" = places ] &&
            ! diff <(places_of_debian "$stepper") "$at/run.out" >"$at/diff"; then
            differs "stepped, otherwise than with Debian's: $at/diff"
        fi
        # A chain has the same number of rows in every step, and so draws as many random numbers.
        if [ "$mode" = chain ] && ! diff <(grep seed "$at/stock.out") <(grep seed "$at/run.out") >/dev/null; then
            differs "$method draws other random numbers than stock"
        fi
        stepped='stepped, as with Debian'\''s'
    elif [ "$said" -ne 1 ] || ! grep -q "sprag: .*$1" "$at/run.err"; then
        differs "$method: $said lines: $(tail -1 "$at/run.err")"
    elif ! cmp -s "$at/run.out" "$at/stock.out" || [ -e "$at/stats" ]; then
        differs "said that it passes on, but is not stock in $stepper $mode"
    else
        stepped="passed on: $(sed -n 's/.*sprag: this ODE \(.*\); all stepping.*/\1/p' "$at/run.err")"
    fi
}

# ---- models, with an installed ODE. The probe of the demos prints a hash of all that moves.

make_scene() {
    local flags
    flags=$(flags_of_ode)
    # The probe reads no more of ODE than what all releases have, and compiles with Debian's headers.
    gcc -w -O2 -shared -fPIC "$here/test/demos/probe.c" -o "$at/probe.so" -ldl -lm || return 1
    # shellcheck disable=SC2086
    gcc -w -O2 -D_GNU_SOURCE $flags -I"$here/models" -o "$at/scene" "$here/test/programs/scene.c" \
        "$here"/models/*.c -L"$ode/lib" -lode -Wl,-rpath,"$ode/lib" -lm
}

hash_of() { # <model> <steps> <method, or stock>; nothing if ODE ends the program
    local library=$build/libsprag.so
    [ "$3" != stock ] || library=''
    rm -f "$at/probe.json" "$at/stats"
    SPRAG_OPTIONS=method=$3 SPRAG_STATS=$at/stats PROBE_OUT=$at/probe.json LD_PRELOAD="$at/probe.so $library" \
        timeout 600 "$at/scene" "$1" "$2" >/dev/null 2>"$at/run.err" || return 0
    sed -n 's/.*"state_hash":"\([0-9a-f]*\)".*/\1/p' "$at/probe.json"
}

fallbacks() {
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { n += $at["fallbacks"] } END { print n + 0 }' \
        "$at/stats"
}

try_models() { # <name>
    local model method hash all models='' same tell=''
    all=$(grep -oP '^    \{"\K[a-z-]+(?=", ")' "$here/models/models.c")
    make_scene >"$at/host.log" 2>&1 || differs "no models: $at/host.log"
    for model in $all; do
        [ -z "$verdict" ] || break
        hash=$(hash_of "$model" 200 stock)
        # Before 0.15 an assertion of ODE's convex collider ends the arch in its first step.
        [ -n "$hash" ] || tell+="without $model, "
        [ -z "$hash" ] || models+="$model "
        rm -f "$at/recording"
        [ "$hash" = "$(SPRAG_RECORD=$at/recording hash_of "$model" 200 ode)" ] ||
            differs "method=ode, recorded, is not stock in $model"
        [ -z "$hash" ] || [ -s "$at/recording" ] || differs "$model is not recorded: $(tail -1 "$at/run.err")"
    done
    for method in stribeck advance ess; do
        same=0
        for model in $models; do
            [ -z "$verdict" ] || break
            hash=$(hash_of "$model" 1000 $method)
            if [ -z "$hash" ] || [ "$(fallbacks)" != 0 ]; then
                differs "$method fails or falls back in $model"
            fi
            ! grep -q "^model $model $method $hash\$" "$here/test/scripts/fingerprint.txt" ||
                same=$((same + 1))
        done
        tell+="$method $same, "
    done
    printf '%-18s %s\n' "$1" \
        "${verdict:-$stepped; of $(wc -w <<<"$models") models to the last bit: ${tell%, }}"
}

# ---- the ODEs

for ode in ${installed[@]+"${installed[@]}"}; do
    at=$out/installed-$(basename "$ode")
    mkdir -p "$at"
    try "$(basename "$ode")" models
done
[ ${#installed[@]} -eq 0 ] || exit $failed

prepare_sources
flags=-DCMAKE_CXX_FLAGS
release=-DCMAKE_CXX_FLAGS_RELEASE
linker=-DCMAKE_SHARED_LINKER_FLAGS
small='-DODE_WITH_OPCODE=OFF'
static=-DBUILD_SHARED_LIBS=OFF
joint=ode/src/joints/joint.h objects=ode/src/objects.h util=ode/src/util.h

# As people build it.
variant O2 steps $release='-O2 -DNDEBUG'
variant O0 steps $small $release=-O0
variant O3-native steps $small $release='-O3 -march=native -ffp-contract=off'
variant assertions steps $small -DCMAKE_BUILD_TYPE=Debug
variant clang steps $small -c clang++ $release=-O2
variant lto steps $small $release='-O2 -flto'
variant symbolic steps $small $linker=-Wl,-Bsymbolic
variant symbolic-functions steps $small $linker=-Wl,-Bsymbolic-functions
variant gc-sections steps $small $flags='-ffunction-sections -fdata-sections' \
    $linker='-Wl,--gc-sections,-O1,-z,now,--as-needed'
variant ccd steps $small -DODE_WITH_LIBCCD=ON
variant gimpact steps -DODE_WITH_GIMPACT=ON -DODE_WITH_OPCODE=OFF
variant ou steps $small -DODE_WITH_OU=ON
variant no-threads steps $small -DODE_NO_BUILTIN_THREADING_IMPL=ON
variant no-interface steps $small -DODE_NO_THREADING_INTF=ON -DODE_NO_BUILTIN_THREADING_IMPL=ON
variant indices16 steps -DODE_16BIT_INDICES=ON
variant archive steps $small $static
variant archive-lto steps $small $static $release='-O2 -flto'
variant newest steps $small -r 0.16.6
variant newest-archive steps $small -r 0.16.6 $static

# Others.
variant single 'double precision' $small -DODE_DOUBLE_PRECISION=OFF
variant single-archive 'double precision' $small $static -DODE_DOUBLE_PRECISION=OFF
variant newest-single 'double precision' $small -r 0.16.6 -DODE_DOUBLE_PRECISION=OFF
echo '{ global: d*; _Z*; local: _Z10dxStepBodyP6dxBodyd; };' >"$out/hide"
variant hidden 'dxStepBody' $small $linker="-Wl,--version-script=$out/hide"
echo '{ global: d*; local: *; };' >"$out/public"
variant public-only 'dxProcessIslands' $small $linker="-Wl,--version-script=$out/public"
variant renamed 'dxReallocateWorldProcessContext' $small \
    $flags=-DdxReallocateWorldProcessContext=dxReallocateWorld

# Private structs that sprag knows.
variant vtable-turned 'virtual functions' $small \
    -a '/virtual void getInfo1\(/d; s/^( *)virtual void getSureMaxInfo\(.*/&\n\1virtual void getInfo1( Info1* info ) = 0;/' $joint
variant vtable-longer 'virtual functions' $small \
    -a 's/^( *)virtual void getInfo1\(.*/\1virtual void more() {}\n&/' $joint
variant rows-longer 'Info1' $small -a 's/^( *)uint8 m, nub;/\1uint8 more[2]; uint8 m, nub;/' $joint
variant rows-turned 'rows of getInfo2' $small \
    -a '/^ *GI2_CFM,$/d; s/^( *)GI2_RHS,$/\1GI2_CFM,\n&/' $joint \
    -a 's/PBX_B = /PBX_X = /; s/^( *)PBX_X,/\1PBX_B,/' ode/src/lcp.h
variant bounds-turned 'rows of getInfo2' $small \
    -a '/^ *GI2_HI,$/d; s/^( *)GI2_LO,$/\1GI2_HI,\n&/' $joint \
    -a 's/PLH_LO = /PLH_HI = /; s/^( *)PLH_HI,/\1PLH_LO,/' ode/src/lcp.h
variant islands-longer 'dxWorldProcessIslandsInfo' $small \
    -a 's/^( *)sizeint +m_IslandCount;/\1sizeint more;\n&/' $util
variant islands-turned 'dxWorldProcessIslandsInfo' $small \
    -a '/^ *unsigned int const +\*m_pIslandSizes;/d; s/^( *)dxJoint \*const +\*m_pJoints;/&\n\1unsigned int const *m_pIslandSizes;/' $util
# And such that it does without: threads of the program's, bodies, the rest of a world; and a contact in its
# joint, which it looks for.
variant joint-longer steps $small \
    -a 's/^( *)unsigned flags; .*dJOINT_xxx.*/&\n\1double more[40];/' $joint
variant threads-turned steps $small \
    -a '/^ *dThreadingImplementationID +m_threading_impl;/d; s/^( *)const dxThreadingFunctionsInfo +\*m_functions_info;/\1dThreadingImplementationID m_threading_impl;\n&/' ode/src/threading_base.h
variant body-longer steps $small -a 's/^( *)dReal invMass;/\1double more[3];\n&/' $objects
variant world-longer steps $small -a 's/^( *)dVector3 gravity;/\1double more[3];\n&/' $objects
exit $failed
