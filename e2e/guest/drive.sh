# What a stock Linux does with the drive: it probes, moves data, resets, is unplugged and plugged in again, keeps file systems.
# Each step that matters prints one line; the first that fails ends the job.
set -e
fail() {
    echo "guest: $*"
    dmesg | tail -n 30
    exit 1
}
wait_for_drive() {
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        [ -b /dev/nvme0n1 ] && return 0
        sleep 1
    done
    fail "no /dev/nvme0n1"
}
disk=/dev/nvme0n1
wait_for_drive
echo "guest: $(uname -r) probed $(cat /sys/class/nvme/nvme0/model) with $(cat /sys/block/nvme0n1/size) sectors"

nvme id-ctrl /dev/nvme0 >/tmp/id || fail "nvme id-ctrl"
nvme smart-log /dev/nvme0 >/tmp/smart || fail "nvme smart-log"
nvme error-log /dev/nvme0 -e 4 >/tmp/errors || fail "nvme error-log"
echo "guest: nvme-cli reads id-ctrl, smart-log, error-log"

fio --name=verify --filename=$disk --ioengine=psync --direct=1 --rw=randrw --bsrange=512-128k --size=24M \
    --verify=crc32c --verify_fatal=1 --verify_state_save=0 >/tmp/fio 2>&1 || {
    cat /tmp/fio
    fail "fio found other data than it wrote"
}
echo "guest: fio verified random sizes"

head -c 4194304 /dev/urandom >/tmp/pattern
try_file_system() {
    name=$1
    mkdir -p /mnt
    mount -t "$name" $disk /mnt || fail "$name cannot be mounted"
    cp /tmp/pattern /mnt/pattern
    cp -r /usr /mnt/usr
    sync
    rm -r /mnt/usr
    fstrim /mnt || fail "fstrim on $name"
    umount /mnt
}
check_file() {
    mount -t "$1" $disk /mnt && cmp /tmp/pattern /mnt/pattern && umount /mnt || fail "$1 lost a file"
}
mkfs.ext4 -q -F $disk || fail "mkfs.ext4"
try_file_system ext4
e2fsck -f -n $disk >/tmp/fsck 2>&1 || { cat /tmp/fsck; fail "e2fsck"; }
check_file ext4
echo "guest: ext4 is clean after trims"
# 300 MiB is the least that mkfs.xfs makes.
if [ "$(cat /sys/block/nvme0n1/size)" -ge 614400 ]; then
    mkfs.xfs -q -f $disk || fail "mkfs.xfs"
    try_file_system xfs
    xfs_repair -n $disk >/tmp/repair 2>&1 || { cat /tmp/repair; fail "xfs_repair"; }
    check_file xfs
    echo "guest: xfs is clean after trims"
fi

dd if=/dev/zero of=$disk bs=64k count=200 oflag=direct 2>/dev/null &
nvme reset /dev/nvme0 || fail "nvme reset"
wait $! || fail "a write did not survive the reset"
echo "guest: a reset under load lost nothing"

echo 1 >/sys/class/nvme/nvme0/device/remove
sleep 1
[ ! -e $disk ] || fail "the drive is still there"
echo 1 >/sys/bus/pci/rescan
wait_for_drive
dd if=$disk of=/dev/null bs=64k count=16 iflag=direct 2>/dev/null || fail "no read after the rescan"
echo "guest: removed and found again"
grep nvme /proc/interrupts | while read -r line; do echo "guest: interrupts $line"; done
