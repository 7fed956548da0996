#!/bin/bash
# Checks the symbols that libsprag, libsprag_general and libsprag_ess define and the libraries that they need.
#
#     test_symbols.sh <source> <build>
set -eu
source=$1
build=$2
export LC_ALL=C
failed=0

# same <what> <expected> <found>
same() {
    if [ "$2" != "$3" ]; then
        printf '%s: < expected, > found\n' "$1"
        diff <(printf '%s\n' "$2") <(printf '%s\n' "$3") || failed=1
    fi
}

# What the public header declares, and what we stand in for.
ours=$(sed -n 's/^SPRAG_API.*[ *]\(sprag_[a-z_]*\)(.*/\1/p' "$source/plugin/base/sprag.h")
process=_Z16dxProcessIslandsP7dxWorldRK25dxWorldProcessIslandsInfod
arena=${process}PFvP22dxWorldProcessMemArenaS0_PKP6dxBodyjPKP7dxJointjdE
process=${process}PFvPK30dxStepperProcessingCallContextEPFj
functions=(dWorldStep dWorldQuickStep dWorldDestroy dCollide dSpaceCollide dSpaceCollide2
    dGeomDestroy dSpaceDestroy dBodyDestroy dJointDestroy dJointGroupEmpty dJointGroupDestroy
    dSetColliderOverride dGeomTriMeshDataUpdate dGeomTriMeshDataBuild{Single,Double,Simple}{,1})
taken=$(printf '%s\n' "${functions[@]}" "$process"jjE "$process"jjjE "$arena" \
    _ZN7dxWorldD0Ev)

exported=$(nm -D --defined-only "$build/libsprag.so" | awk '{ print $3 }' | sort)
same "libsprag.so exports" "$(printf '%s\n' "$ours" "$taken" | sort)" "$exported"

versioned=$(readelf -W --dyn-syms "$build/libsprag.so" | grep -c 'dWorldStep@' || true)
same "libsprag.so gives versions to its symbols" 0 "$versioned"

needed=$(readelf -d "$build/libsprag.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\.so.*/\1/p' |
    grep -v -e '^ld-linux' -e '^libasan' -e '^libubsan' | sort)
same "libsprag.so needs" "$(printf '%s\n' libamd libc libm)" "$needed"

addresses=$(readelf -rW "$build/libsprag.so" | awk '$5 ~ /^d[A-Z]/ && $3 !~ /JUMP_SLO/ { print $5 }')
same "libsprag.so takes addresses in an ODE that may be seen later only" "" "$addresses"

# Functions that came after 0.12: sprag serves older ODEs, and finds these by adapters/engine/symbols.c.
later=$(nm -D --undefined-only "$build/libsprag.so" | awk '{ print $NF }' |
    grep -E '^d(Thread|Resource|Cooperat|World.*(Thread|Data$)|Joint.*(DBall|DHinge|Transmission|Hinge2A(xes|ngle2))|GeomRay.*(Cull|FirstContact))' ||
    true)
same "libsprag.so calls functions that older ODEs lack" "" "$later"

now=$(readelf -dW "$build/libsprag.so" | grep -o -w -e BIND_NOW -e 'Flags: NOW' || true)
same "libsprag.so can be given its ODE later" "" "$now"

soname=$(readelf -d "$build/libsprag.so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
same "libsprag.so is called" libsprag.so.0 "$soname"

defined=$(nm -g --defined-only "$build/libsprag.a" | awk 'NF == 3 { print $3 }' |
    grep -v '^__odr_asan' | sort)
wrapped=$(printf '__wrap_%s\n' "${functions[@]}")
same "libsprag.a defines" "$(printf '%s\n' "$ours" "$wrapped" | sort)" "$defined"

# Rooms below the plugin must not call an interposed function by its plain name: the call would lead
# back into the plugin. The real functions are found through the engine: in libsprag.so by dlsym, so
# that no object names them; in libsprag.a by the weak names of engine/symbols.c, which alone may.
# The plugin's own files are held to the same.
interposed=$(printf '%s\n' "$taken")
plain_calls() { # plain_calls <object or archive>...
    nm -A -u "$@" 2>/dev/null | awk '{ print $NF, $1 }' | grep -w -F -e "$interposed" |
        grep -v ' .*symbols\.c\.o:' || true
}
rooms=("$build"/rooms/libadapters_*.a "$build"/rooms/libsolvers_*.a
    "$build"/rooms/libplugin_library.a)
for room in "${rooms[@]}"; do # else there is nothing that could fail
    [ -s "$room" ] || failed=1
done
same "rooms that call interposed functions by their plain names" "" "$(plain_calls "${rooms[@]}")"
[ -z "$(nm -u "$build/rooms/libadapters_engine.a" | grep -w -F -e "$interposed")" ] || {
    echo "libadapters_engine.a names interposed functions"
    failed=1
}
objects=$build/plugin/library/CMakeFiles/sprag_wrap.dir/__/__
wrap=()
for file in "$source"/adapters/*/*.c; do
    wrap+=("$objects${file#"$source"}.o")
done
same "libsprag.a's objects that call interposed functions by their plain names" "" \
    "$(plain_calls "${wrap[@]}")"
strong=$(nm -u "$objects/adapters/engine/symbols.c.o" | awk '$1 == "U" { print $2 }' |
    grep -w -F -e "$interposed" || true)
same "engine/symbols.c's names of interposed functions that are not weak" "" "$strong"

# The solvers for programs without ODE: what their installed headers declare, and that it can be found.
# Hidden objects would make an empty library without a word.
solver_library() { # solver_library <name> <libraries that it needs> <function that it has> <header>...
    local name=$1 needs=$2 has=$3 declared exported needed soname defined
    shift 3
    declared=$(cd "$source/solvers" && sed -n -e 's/^SPRAG_SOLVER_API.*[ *]\(sprag_[a-z_]*\)(.*/\1/p' \
        -e 's/^SPRAG_SOLVER_API extern .* \(sprag_[a-z0-9_]*\);/\1/p' "$@" base/{result,scratch}.h | sort)
    grep -qx "$has" <<<"$declared" || failed=1
    exported=$(nm -D --defined-only "$build/libsprag_$name.so" | awk '$2 != "A" { print $3 }' |
        sed 's/@.*//' | sort)
    same "libsprag_$name.so exports" "$declared" "$exported"
    needed=$(readelf -d "$build/libsprag_$name.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\.so.*/\1/p' |
        grep -v -e '^ld-linux' -e '^libasan' -e '^libubsan' | sort)
    # shellcheck disable=SC2086 # words
    same "libsprag_$name.so needs" "$(printf '%s\n' $needs)" "$needed"
    soname=$(readelf -d "$build/libsprag_$name.so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
    same "libsprag_$name.so is called" "libsprag_$name.so.0" "$soname"
    defined=$(nm -g --defined-only "$build/libsprag_$name.a" | awk 'NF == 3 { print $3 }' |
        grep -v '^__odr_asan' | sort)
    same "libsprag_$name.a defines" "$declared" "$defined"
}
solver_library general "libamd libc libm libopenblas" sprag_general_solve general/general.h
solver_library ess "libc libm" sprag_ess_integrate ess/{ess,smooth}.h

exit $failed
