#!/bin/sh
# Asks Tangram's plugin on this node to bring a device's network interface into the pod that a container is made for.
#
# Container runtimes call it as a createRuntime hook of CDI, in the host's namespaces, with the container's state
# on standard input. It changes nothing itself. Where the plugin refuses, or does not answer in time, the container
# does not start. It needs sh, cat, mkfifo, mv, rm and sleep.
#
# usage: bring-in.sh FOLDER CLAIM_UID DEVICE SECONDS
#
# exit status: 0 the pod has the interface; 1 the plugin refused and says why in an event on the claim; 2 no plugin
# answered. Not every runtime passes our message on.

PATH=/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin
umask 077
folder=$1 claim=$2 device=$3 seconds=$4
own=$folder/$claim.$$

fail() {
    printf 'tangram: cannot bring device %s of claim %s into the pod: %s\n' "$device" "$claim" "$2" >&2
    exit "$1"
}

# Ends the wait with an answer of its own. Its output is closed: runtimes wait for a hook's output to end.
watch() {
    left=$seconds
    while [ "$left" -gt 0 ] && sleep 1 3>&-; do
        kill -0 $$ || exit
        left=$((left - 1))
    done
    echo "none: the plugin did not answer within $seconds s; the operator looks at Tangram's pod on this node" >&3
}

[ -p "$folder/bell" ] || fail 2 "$folder/bell is missing; the operator starts Tangram's plugin on this node"
trap 'rm -f "$own.new" "$own.request" "$own.answer"' EXIT
trap 'exit 2' HUP INT TERM
rm -f "$own.answer"
mkfifo "$own.answer" || fail 2 "no answer can be received in $folder"
exec 3<>"$own.answer"
watch </dev/null >/dev/null 2>&1 &
watcher=$!

# Whole before it has the name that the plugin looks for.
{ printf '%s\n%s\n' "$claim" "$device" && cat; } >"$own.new" && mv "$own.new" "$own.request" ||
    fail 2 "the request cannot be written to $folder"
echo 1<>"$folder/bell"
IFS= read -r answer <&3
kill "$watcher" 2>/dev/null
case $answer in
ok) ;;
none:*) fail 2 "${answer#none: }" ;;
*) fail 1 "$answer" ;;
esac
