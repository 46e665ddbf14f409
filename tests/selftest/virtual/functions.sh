# What the layouts of layouts.txt use. Sourced by sh -ex in the virtual machine.

disk() {  # by its serial number: names are given in whatever order drives are found
    for each in /sys/block/*; do
        case $each in */nvme*c*n*) continue ;; esac  # one of several paths to a drive, which has no node
        for file in serial device/serial device/vpd_pg80; do
            if grep -aqs "$1" "$each/$file"; then
                echo "/dev/${each##*/}"
                return
            fi
        done
    done
    echo "no disk $1" >&2
    return 1
}

ext4() {
    mkfs.ext4 -qF "$1"
    mount "$1" /m
}

raid() {  # MODULE LEVEL COUNT MEMBER...
    modprobe "$1"
    level=$2 count=$3
    shift 3
    mdadm --create --run --assume-clean /dev/md0 --level="$level" --raid-devices="$count" "$@"
    ext4 /dev/md0
}

unraid() {
    mdadm --stop /dev/md0
    mdadm --zero-superblock "$first" "$second"
}

lvm() {  # without udev, which does not run here
    command lvm "$@" --config 'devices/obtain_device_list_from_udev=0 activation/udev_sync=0 activation/udev_rules=0 activation/verify_udev_operations=0'
}

pool() {
    lvm pvcreate -qff -y "$first" "$second"
    lvm vgcreate -q pool "$first" "$second"
}

unpool() {
    lvm vgremove -qff -y pool
    lvm pvremove -qff -y "$first" "$second"
    clean
}

luks() {  # DEVICE OPTION...
    device=$1
    shift
    modprobe dm-crypt
    echo secret > /run/key
    cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 "$device" /run/key
    cryptsetup open "$@" --key-file /run/key "$device" secret
    ext4 /dev/mapper/secret
}

clean() {
    wipefs -qaf "$first" "$second"
}

first=$(disk first)
second=$(disk second)
