#!/usr/bin/env bash
# The launcher of the first dataplane-emu: the same variables, stages, logs and results, on an emulated drive.
#
# It translates its environment into one call of `dataplane-emu demo` and files what came out under the old names.
# docs/old-interface.md has a row for every variable. Leaves with the exit code of the demo.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

say() { echo "demo: $*" >&2; }
refuse() {
    code=$1
    shift
    say "$*"
    exit "$code"
}

# number NAME DEFAULT LEAST MOST: the variable's value, which has to be a whole number within these.
number() {
    local value=${!1:-$2}
    if [[ ! $value =~ ^[0-9]{1,9}$ ]] || ((10#$value < $3 || 10#$value > $4)); then
        refuse 2 "$1: wanted a whole number from $3 to $4; found: '$value'; do: set or unset it"
    fi
    echo "$((10#$value))"
}

# idle NAME WHY: one line for a variable that is set and changes nothing.
idle() {
    [[ -z ${!1:-} ]] || say "$1=${!1}: changes nothing: $2"
}

# The old interlock. A real drive is overwritten by nobody's accident, and today by nobody at all.
device=${DEMO_NVME_DEVICE:-}
if [[ -n $device ]]; then
    if [[ ${ARM_NEOVERSE_DEMO_CONFIRM:-${COBALT_DEMO_CONFIRM:-}} != YES ]]; then
        refuse 2 "DEMO_NVME_DEVICE=$device: a demo on it would overwrite all its data;" \
            "wanted: ARM_NEOVERSE_DEMO_CONFIRM=YES; do: unset DEMO_NVME_DEVICE to run on an emulated drive"
    fi
    refuse 3 "DEMO_NVME_DEVICE=$device: real drives (pci:) are not built yet, nothing was touched;" \
        "do: unset DEMO_NVME_DEVICE to run on an emulated drive"
fi

runtime=$(number DEMO_RUNTIME_SEC 30 1 86400)
mix=$(number DEMO_RWMIXREAD 50 0 100)
deepest=$(number DEMO_IODEPTH 128 1 1024)
middle=$(number DEMO_MID_IODEPTH 32 1 1024)
depths=$(printf '%s\n' 1 "$middle" "$deepest" | sort -nu | paste -sd, -)

size=${DEMO_SIZE:-4G}
if [[ -z ${DEMO_SIZE:-} ]] && (($(awk '/^MemAvailable:/ {print $2}' /proc/meminfo) < 8 << 20)); then
    size=1G
    say "DEMO_SIZE: 1G instead of 4G: the emulated drive is in memory, and less than 8 GiB are available"
fi

case ${DEMO_INSTANCE_TYPE:-c7gd} in
c7gd*) profile=aws-c7gd ;;
Standard_D*pds_v6) profile=azure-d4pds-v6 ;;
*)
    profile=aws-c7gd
    say "DEMO_INSTANCE_TYPE=$DEMO_INSTANCE_TYPE: no profile is known for its drive; taking $profile"
    ;;
esac

idle ARM_NEOVERSE_DEMO_CONFIRM "the drive is emulated, so there is nothing to confirm"
idle COBALT_DEMO_CONFIRM "the drive is emulated, so there is nothing to confirm"
idle DEMO_MOUNT_DIR "the demo mounts below its work folder (DEMO_ARM_DIR)"
idle DEMO_MAX_STAGE "every stage runs; one that cannot says why"
idle DEMO_STAGE3_DRIVER "stage 3 is this project's own driver, in user space"
idle DEMO_BDEVPERF_BIN "no bdevperf is used"
idle DEMO_AUTOBUILD_BDEVPERF "no bdevperf is used"
idle DEMO_BRIDGE_SIZE_BYTES "every stage uses one device of one size (DEMO_SIZE)"
idle DEMO_NO_CLEAR "the screen is never cleared"
idle DEMO_RIGHT_PANE_PERCENT "there are no panes"

work=$(mktemp -d)
demo=
# The demo takes its mounts down before its folder goes. Never into a mount that it could not take down.
# shellcheck disable=SC2317 # the trap calls it
leave() {
    if [[ -n $demo ]]; then
        kill "$demo" 2>/dev/null || true
        wait "$demo" || true
    fi
    rm -rf --one-file-system "$work"
}
trap leave EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

echo "[Stage 0] Build and preparation: emulated drive, profile $profile, $size"
binary=${DATAPLANE_BINARY:-}
if [[ ${DEMO_SKIP_BUILD:-0} != 1 && -z $binary ]]; then
    "$root/scripts/setup"
    export PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
    (cd "$root" && cargo build --release --quiet --package dataplane-emu)
fi
target=${CARGO_TARGET_DIR:-$root/target}
binary=${binary:-$target/release/dataplane-emu}
[[ -x $binary ]] || refuse 3 "wanted: the program; found: nothing at $binary; do: unset DEMO_SKIP_BUILD and DATAPLANE_BINARY"

folder=${DEMO_ARM_DIR:-$work/demo}
mkdir -p "$folder"

# No result of an earlier run may stand beside those of this one.
for depth in ${depths//,/ }; do
    rm -f "x_qd$depth.json" "fuse_qd$depth.json"
done

arguments=(demo --layout old --profile "$profile" --qd "$depths" --repeats 3 --runtime "$((runtime * 1000 / 3))ms" --size "$size"
    --rwmixread "$mix" --bs "${DEMO_BS:-4k}" --json "$work/demo.json" --work-dir "$folder")
echo "[Stage 0] $binary ${arguments[*]}"
code=0
# Its progress lines, [Stage 1] to [Stage 3], come on stderr; who waits for them reads our output.
"$binary" "${arguments[@]}" 2>&1 >"$work/scorecard" </dev/null &
demo=$!
# Waited for in a way that a signal to us ends.
wait "$demo" || code=$?
demo=

if [[ ! -s $work/demo.json ]]; then
    cat "$work/scorecard"
    refuse "$((code == 0 ? 1 : code))" "the demo wrote no results; what it said is above"
fi
mkdir "$work/logs"
# Without the demo's own list of files: they go with the work folder.
sed '/^  Logs:$/,$d' "$work/scorecard" >"$work/logs/arm_neoverse_engine.log"
cat "$work/logs/arm_neoverse_engine.log"
if command -v python3 >/dev/null; then
    python3 "$root/packaging/old-results.py" "$work" "$middle" "$deepest"
else
    say "logs and results under the old names: not run: python3 is missing"
fi
mv "$work/demo.json" "$work/logs/arm_neoverse_demo.json"

# Moved and not written there, so that nobody's link under the old name is followed.
echo "  Logs:"
for log in "$work"/logs/*; do
    place=${TMPDIR:-/tmp}/${log##*/}
    mv -fT "$log" "$place"
    echo "    $place"
done
exit "$code"
