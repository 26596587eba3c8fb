# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# aMule in the lab, for tests that source it after netns.sh: daemons with a home each in HERE.

# Kad refuses nodes with private addresses; these are amateur radio's, and go nowhere.
MULE_CLIENT4=44.77.0.1 MULE_SERVER4=44.77.0.2
mule_addresses() {
	ip -n "$LAB_PREFIX-c" addr add "$MULE_CLIENT4/24" dev c0
	ip -n "$LAB_PREFIX-s" addr add "$MULE_SERVER4/24" dev s0
}

# aMule has the milliseconds of the day and year in 32 bits and asks no source in the hour before they wrap, which
# they do every 50 days: it lives on a day of its own. libfaketime keeps memory under the process's number, does not
# remove it when that is killed, and refuses to begin where it is: what is there can only be of one that is gone.
# shellcheck disable=SC2016 # for another shell
MULE_ON_ITS_DAY='rm -f /dev/shm/sem.faketime_sem_$$ /dev/shm/faketime_shm_$$
	export FAKETIME="@2026-01-01 00:00:00" FAKETIME_DONT_FAKE_MONOTONIC=1
	export LD_PRELOAD=/usr/\$LIB/faketime/libfaketime.so.1
	exec amuled -c "$0"'
mule_forget_days() {
	local pid
	while read -r pid; do rm -f "/dev/shm/sem.faketime_sem_$pid" "/dev/shm/faketime_shm_$pid"; done <"$HERE/on-their-day"
} 2>/dev/null

# mule NAME SIDE NUMBER PORT CRYPT CONTACT...: a daemon; its home is HERE/NAME. One of the server's side shares what lies
# in MULE_SHARES.
MULE_SHARES=
mule() {
	local name=$1 side=$2
	shift 2
	"$NETNS_PY" "$NETNS_LIB/peers/amule.py" "$HERE/$name" "$@" >"$HERE/$name.source"
	[ "$side" = server ] && cp "$MULE_SHARES"/* "$HERE/$name/Incoming/"
	lab_spawn "$name" "$side" bash -c "$MULE_ON_ITS_DAY" "$HERE/$name"
	lab_pid "$name" >>"$HERE/on-their-day"
}
mule_says() { # NAME SIDE PORT COMMAND
	lab_exec "$2" timeout 10 amulecmd -h 127.0.0.1 -p $(($3 + 50)) -P pass -c "$4"
}
mule_is_up() { mule_says "$@" status | grep -q 'Kad: Connected'; }
mule_takes() { # NAME SIDE PORT LINK
	mule_says "$1" "$2" "$3" "add $4" | grep -q 'Operation was successful'
}
# mule_asks SECONDS NAME SIDE PORT LINK COMMAND...: asks until the command holds, again every ten seconds: now and then aMule drops the
# source of a link, or a thread of it takes a wake-up with nothing to read for the end of the connection, and reads no more.
mule_asks() {
	local end=$((SECONDS + $1)) ask=("${@:2:4}")
	shift 5
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		mule_takes "${ask[@]}"
		lab_wait 10 "$@" && return
	done
}
mule_shares() { # NAME SIDE PORT COUNT: so many files are hashed
	[ "$(mule_says "$1" "$2" "$3" 'show shared' | grep -cE '^ > [0-9A-F]{32}')" -ge "$4" ]
}
