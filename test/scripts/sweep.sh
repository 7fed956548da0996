#!/bin/bash
# sweep.sh run FOLDER MODELS METHODS STEPS [WORKERS] - runs every model under every method at every
# step length (lists with commas; models as `sprag list` names them, methods as ode-quick:100), WORKERS
# (2) at a time by GNU parallel, and writes FOLDER/sweep.csv: a row per run and measure. A run that is
# done is not repeated: after an interruption, the same command goes on.
#
# The same in parts, for clusters:
#
#   sweep.sh plan FOLDER MODELS METHODS STEPS   writes FOLDER/jobs, a line per run
#   sweep.sh one FOLDER N                       does line N of it, unless it is done
#   sweep.sh csv FOLDER                         writes FOLDER/sweep.csv from what is done
#
# Under Slurm: sbatch --wait --array=1-$(wc -l <FOLDER/jobs) --wrap 'sweep.sh one FOLDER $SLURM_ARRAY_TASK_ID'
# On several machines that share FOLDER and this script, by full paths:
#   parallel --sshlogin HOST,HOST /path/to/sweep.sh one /path/to/FOLDER {} ::: $(seq $(wc -l <FOLDER/jobs))
# sweep.sh slurm FOLDER MODELS METHODS STEPS starts a Slurm of its own on this machine, as root, and does so.
#
# SPRAG names the command. apt-get install parallel jq, and for slurm: slurm-wlm munge
set -euo pipefail
self=$(readlink -f "$0")
sprag=${SPRAG:-$(dirname "$self")/../../build/sprag}

usage() {
    sed -n '2,${/^#/!q;s/^# \{0,1\}//p}' "$self"
    exit "$1"
}

plan() { # FOLDER MODELS METHODS STEPS
    local model method step
    mkdir -p "$1/done"
    for model in ${2//,/ }; do
        for method in ${3//,/ }; do
            for step in ${4//,/ }; do
                echo "$model $method $step"
            done
        done
    done >"$1/jobs.new"
    # The numbers of jobs name what is done
    if [ -e "$1/jobs" ] && ! cmp -s "$1/jobs" "$1/jobs.new"; then
        echo "sweep.sh: $1 has another sweep; name another folder" >&2
        exit 1
    fi
    mv "$1/jobs.new" "$1/jobs"
}

one() { # FOLDER NUMBER
    local model method step
    read -r model method step < <(sed -n "${2}p" "$1/jobs")
    if [ ! -e "$1/done/$2" ]; then
        "$sprag" run "$model" -m "$method" --step "$step" --json >"$1/done/.$2.$$"
        mv "$1/done/.$2.$$" "$1/done/$2"
    fi
}

csv() { # FOLDER
    local number
    {
        echo model,method,step,measure,unit,value,exact,good
        for number in $(seq "$(wc -l <"$1/jobs")"); do
            [ ! -e "$1/done/$number" ] || jq -r '.models[] as $m | $m.methods[] as $t |
                ($t.measures[] | [$m.model, $t.method, $m.step, .name, .unit, .value, .exact, .good]),
                ([["time per step", "us", $t.us_per_step], ["fallbacks", "", $t.fallbacks]][] |
                 [$m.model, $t.method, $m.step] + . + [null, null]) | @csv' "$1/done/$number"
        done
    } >"$1/sweep.csv"
    echo "$(find "$1/done" -name '[0-9]*' | wc -l) of $(wc -l <"$1/jobs") runs are in $1/sweep.csv"
}

# A Slurm with one node, this machine, in a folder of its own; no service of the system is touched.
start_slurm() { # FOLDER
    local at=$1/slurm host
    host=$(hostname -s)
    mkdir -p "$at/state" "$at/spool"
    cat >"$at/slurm.conf" <<EOF
ClusterName=sweep
SlurmctldHost=$host(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket=$at/munge.socket
CryptoType=crypto/munge
SlurmUser=root
SlurmctldPort=16817
SlurmdPort=16818
StateSaveLocation=$at/state
SlurmdSpoolDir=$at/spool
SlurmctldPidFile=$at/slurmctld.pid
SlurmdPidFile=$at/slurmd.pid
SlurmctldLogFile=$at/slurmctld.log
SlurmdLogFile=$at/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
EOF
    export SLURM_CONF=$at/slurm.conf
    dd if=/dev/urandom of="$at/munge.key" bs=1024 count=1 status=none
    chmod 700 "$at"
    chmod 600 "$at/munge.key"
    munged --foreground --force --key-file="$at/munge.key" --socket="$at/munge.socket" --pid-file="$at/munged.pid" \
        --log-file="$at/munged.log" --seed-file="$at/munged.seed" 2>"$at/munged.err" &
    slurm=($!)
    trap 'kill "${slurm[@]}" 2>/dev/null || true' EXIT
    sleep 1
    slurmctld -D -c 2>"$at/slurmctld.err" &
    slurm+=($!)
    slurmd -D -c 2>"$at/slurmd.err" &
    slurm+=($!)
    for _ in $(seq 60); do
        sinfo -h -o %t 2>/dev/null | grep -q idle && return
        sleep 1
    done
    echo "sweep.sh: no Slurm within 60 s; see $at" >&2
    exit 1
}

[ $# -gt 0 ] || usage 2
verb=$1
shift
case $verb in
-h | --help) usage 0 ;;
plan) plan "$@" ;;
one) one "$@" ;;
csv) csv "$@" ;;
run)
    plan "${@:1:4}"
    seq "$(wc -l <"$1/jobs")" | parallel --will-cite --jobs "${5:-2}" "$self" one "$1" {}
    csv "$1"
    ;;
slurm)
    plan "$@"
    folder=$(readlink -f "$1")
    start_slurm "$folder"
    SPRAG=$(readlink -f "$sprag") sbatch --wait --array=1-"$(wc -l <"$folder/jobs")" --output="$folder/slurm/%a.out" \
        --wrap "$self one $folder \$SLURM_ARRAY_TASK_ID"
    csv "$1"
    ;;
*) usage 2 ;;
esac
