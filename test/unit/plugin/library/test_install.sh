#!/bin/bash
# Installs into a folder of its own and builds a program against that, in each way that plugin/README.md offers; and
# installs what a build without tests and bench has.
#
#     test_install.sh <build>
set -eu
build=$1
steps=10
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix=$folder/usr
cd "$folder"
unset SPRAG_OPTIONS SPRAG_STATS LD_PRELOAD
cc=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
flags=()
if grep -q '^SPRAG_SANITIZE:BOOL=ON' "$build/CMakeCache.txt"; then
    flags=("-fsanitize=address,undefined")
fi

cmake --install "$build" --prefix "$prefix" >install.log
libraries=$(dirname "$(find "$prefix" -name libsprag.so)")
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
export PKG_CONFIG_PATH=$libraries/pkgconfig
export LD_LIBRARY_PATH=$libraries

cat >consumer.c <<'end'
#include <sprag.h>
#include <stdio.h>

int main(void)
{
    dInitODE2(0);
    dWorldID world = dWorldCreate();
    dBodyID body = dBodyCreate(world);
    dJointID joint = dJointCreateBall(world, NULL);
    dWorldSetGravity(world, 0, 0, -9.81);
    dJointAttach(joint, body, NULL);
    dJointSetBallAnchor(joint, 1, 0, 0);
    sprag_world_statistics statistics = {0};
    statistics.struct_size = sizeof statistics;
    if (!sprag_world_configure(world, "method=stribeck")) {
        puts(sprag_error());
    }
    for (int i = 0; i < STEPS; i++) {
        dWorldStep(world, 0.01);
    }
    sprag_world_stats(world, &statistics);
    printf("%s: %ld steps, %d rows\n", sprag_version(), statistics.steps, statistics.rows);
    dWorldDestroy(world);
    dCloseODE();
    return 0;
}
end

# ran <what> <command...>: the program must have been stepped by sprag
ran() {
    local what=$1 output
    shift
    output=$("$@" 2>&1) || true
    echo "$what: $output"
    [ "$output" = "$version: $steps steps, 3 rows" ]
}

[ "$(pkg-config --modversion sprag)" = "$version" ]
read -r -a arguments <<<"$(pkg-config --cflags --libs sprag)"
"$cc" "${flags[@]}" -DSTEPS=$steps consumer.c -o by_pkg_config "${arguments[@]}"
ran pkg-config ./by_pkg_config

# With ODE linked in. Its archive needs libccd and libstdc++; their development packages may be
# missing.
archive=$(pkg-config --variable=libdir ode)/libode.a
ccd=$("$cc" -print-file-name=libccd.so.2)
cxx=$("$cc" -print-file-name=libstdc++.so.6)
static=()
if [ -e "$archive" ] && [ -e "$ccd" ] && [ -e "$cxx" ]; then
    static=("$archive" "$ccd" "$cxx")
    read -r -a arguments <<<"$(pkg-config --cflags sprag) $(pkg-config --variable=wrap sprag)"
    "$cc" "${flags[@]}" -DSTEPS=$steps consumer.c -o archive_by_pkg_config "${arguments[@]}" \
        "$libraries/libsprag.a" "${static[@]}" -lamd -lm -lpthread
    ran "archive, pkg-config" ./archive_by_pkg_config
fi

# One project, configured once. A folder of it sees no target that another one has found.
source=$(sed -n 's/^CMAKE_HOME_DIRECTORY:[A-Z]*=//p' "$build/CMakeCache.txt")
mkdir consumer consumer/sprag consumer/general consumer/ess
cat >consumer/CMakeLists.txt <<'end'
cmake_minimum_required(VERSION 3.18)
project(consumer LANGUAGES C)
add_subdirectory(sprag)
add_subdirectory(general)
add_subdirectory(ess)
end
cat >consumer/sprag/CMakeLists.txt <<'end'
find_package(sprag 0.1 REQUIRED)
add_executable(by_cmake ../../consumer.c)
target_link_libraries(by_cmake PRIVATE sprag::sprag)
if(STATIC)
    add_executable(archive_by_cmake ../../consumer.c)
    target_link_libraries(archive_by_cmake PRIVATE sprag::archive ${STATIC})
endif()
end
for name in general ess; do
    cat >consumer/$name/CMakeLists.txt <<end
find_package(sprag_$name 0.1 REQUIRED)
foreach(library $name ${name}_archive)
    add_executable(by_\${library} $source/test/programs/example_$name.c)
    target_link_libraries(by_\${library} PRIVATE sprag::\${library} m)
endforeach()
end
done
cmake -S consumer -B consumer/build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_FLAGS="${flags[*]} -DSTEPS=$steps" \
    -DSTATIC="$(IFS=';' && echo "${static[*]}")" >cmake.log
cmake --build consumer/build >>cmake.log
ran find_package consumer/build/sprag/by_cmake
if [ -n "${static[*]}" ]; then
    ran "archive, find_package" consumer/build/sprag/archive_by_cmake
fi

if [ -x "$prefix/bin/sprag" ]; then
    [ "$("$build/host" step $steps)" != "$("$prefix/bin/sprag" exec "$build/host" step $steps)" ]
fi

# ---- the solvers for programs without ODE

general='3 N m: friction -2.9638 N m, turns at 3.62e-05 rad/s
6 N m: friction -5.0000 N m, turns at 1.00e-03 rad/s'
ess='0.198537 s: leg 2 lands
0.199899 s: leg 0 lands
0.207316 s: leg 1 lands
*
height *
level: 6 events
*'

# solved <what> <program> <expected>: it must print that (a pattern), and have no ODE
solved() {
    echo "$1:"
    "$2" | tee solved.out
    # shellcheck disable=SC2053 # a pattern
    [[ $(cat solved.out) == $3 ]]
    # shellcheck disable=SC2143 # a negated pipeline does not end the script
    [ -z "$(ldd "$2" | grep libode)" ]
}

for name in general ess; do
    read -r -a arguments <<<"$(pkg-config --cflags --libs sprag_$name)"
    "$cc" "${flags[@]}" "$source/test/programs/example_$name.c" -o $name "${arguments[@]}" -lm
    solved "$name, pkg-config" ./$name "${!name}"
    ldd $name | grep -q libsprag_$name.so

    read -r -a arguments <<<"$(pkg-config --static --libs sprag_$name)"
    "$cc" "${flags[@]}" -I"$prefix/include" "$source/test/programs/example_$name.c" -o ${name}_archive \
        "${arguments[@]/-lsprag_$name/-l:libsprag_$name.a}"
    solved "$name, archive" ./${name}_archive "${!name}"
    # shellcheck disable=SC2143
    [ -z "$(ldd ${name}_archive | grep libsprag)" ]

    solved "$name, find_package" consumer/build/$name/by_$name "${!name}"
    solved "$name archive, find_package" consumer/build/$name/by_${name}_archive "${!name}"
done

# Both in one program, shared and as archives in either order, with the memory that they have in common.
cat >both.c <<'end'
#include <sprag/ess.h>
#include <sprag/general.h>
int main(void)
{
    sprag_scratch scratch = {0};
    int *one = sprag_scratch_take(&scratch, 1, sizeof *one), code = *one;
    sprag_scratch_free(&scratch);
    return code + (sprag_general_defaults().max_iterations != 20000) + (sprag_ess_defaults(1).step != 1);
}
end
read -r -a arguments <<<"$(pkg-config --cflags --libs sprag_general sprag_ess)"
"$cc" "${flags[@]}" both.c -o both "${arguments[@]}" && ./both
for order in "general ess" "ess general"; do
    # shellcheck disable=SC2086 # two words
    read -r -a arguments <<<"$(printf -- '-l:libsprag_%s.a ' $order)"
    "$cc" "${flags[@]}" -I"$prefix/include" both.c -o both_archives -L"$libraries" "${arguments[@]}" \
        -lopenblas -lamd -lm && ./both_archives
done

if cxx=$(command -v c++) && [ ${#flags[@]} -eq 0 ]; then # what a C++ program includes
    cat >solvers.cc <<'end'
#include <sprag/ess.h>
#include <sprag/general.h>
int main()
{
    return sprag_general_defaults().max_iterations != 20000 || sprag_ess_defaults(1).smooth;
}
end
    read -r -a arguments <<<"$(pkg-config --cflags --libs sprag_general sprag_ess)"
    "$cxx" solvers.cc -o solvers_cxx "${arguments[@]}" && ./solvers_cxx
fi

# The manual page: one screen of 80 columns.
page=$(find "$prefix" -name sprag_ess.3)
[ -n "$page" ]
if command -v groff >/dev/null; then
    groff -man -Tascii -P-c -P-b -P-u -rLL=80n -ww "$page" >page.txt 2>page.err
    [ ! -s page.err ]
    [ "$(wc -l <page.txt)" -le 60 ]
    [ "$(wc -L <page.txt)" -le 80 ]
    sed -n 's/^SPRAG_SOLVER_API.*[ *]\(sprag_ess_[a-z_]*\)(.*/\1/p' "$prefix/include/sprag/ess.h" |
        grep -v -e stop_name -e piece_at >functions.txt
    [ -s functions.txt ]
    while read -r function; do
        grep -q "$function(" page.txt
    done <functions.txt
fi

# ---- what is installed needs no test and no bench

# What the other build has asked the compiler is not asked again.
mapfile -t known < <(sed -n 's/^\(has_[a-z_]*\|CMAKE_HAVE_LIBC_PTHREAD\):INTERNAL=/-D\1=/p' "$build/CMakeCache.txt")
cmake -S "$source" -B product/build -DBUILD_TESTING=OFF -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_C_COMPILER="$cc" "${known[@]}" >cmake.log
targets=$(cmake --build product/build --target help)
[[ $targets == *sprag_library* && $targets != *bench* && $targets != *test_* ]]
# The files are those of the other build: .ci/run builds them without the tests too.
cp -P "$build"/*sprag* product/build/
cmake --install product/build --prefix "$folder/product/usr" >product.log
# installed <prefix>: what is there, whatever the build type
installed() {
    find "$1" ! -type d -printf '%P\n' | sed 's/-[a-z]*\.cmake$/.cmake/' | sort
}
diff <(installed "$prefix") <(installed "$folder/product/usr")
