# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What tests/netns/clients_*.test share: sourced after netns.sh. Programs run in the lab with a home in HERE; a capture
# is made on the client's side; in the end every flow in it is held against the test's rows (tests/lib/packet/flows_seen.py),
# live and replayed, and its variants (tests/lib/packet/variants.py) against the replay.

HERE= CAPTURE=

clients_needed() { # PROGRAM...
	local p
	for p in "$@"; do
		command -v "$p" >/dev/null || { echo "no $p (tools/packages.sh)"; exit 77; }
	done
}

clients_begin() {
	HERE=$LAB_RUN/home CAPTURE=$LAB_RUN/log/live.pcap
	mkdir -p "$HERE"
	chmod 755 "$LAB_RUN" "$HERE"
	export HOME=$HERE
	trap 'clients_cleanup $?' EXIT
	lab_gateway_start || netns_fail "the gateway does not start"
	# immediate: else what the kernel has not handed over yet, up to a second, is lost in the end; -B: for bursts
	lab_spawn capture client tcpdump -Z root -U -n -s 0 --immediate-mode -B 65536 -i c0 -w "$CAPTURE"
	lab_wait 5 grep -q listening "$LAB_RUN/log/capture" || netns_fail "tcpdump does not start"
}

clients_cleanup() { # EXIT CODE; names of a side's own, which some of the tests write, go with it
	rm -rf "/etc/netns/$LAB_PREFIX-c" "/etc/netns/$LAB_PREFIX-s"
	netns_cleanup "$1"
}

clients_listen() { lab_exec "$1" ss -Hln "--$2" "sport = :$3" | grep -q .; } # SIDE tcp|udp PORT

# clients_typed NAME SIDE COMMAND...: a program that wants a terminal; clients_type NAME LINE... types into it.
clients_typed() {
	local name=$1 side=$2
	shift 2
	lab_spawn "$name" "$side" "$NETNS_PY" "$NETNS_LIB/rig/typist.py" "$HERE/$name.keys" "$@"
}
clients_type() {
	local name=$1
	shift
	printf '%s\n' "$@" >>"$HERE/$name.keys"
}
# clients_type_until NAME LINE COMMAND...: again every three seconds, until the command holds: whom a line names may not
# be known there yet.
clients_type_until() {
	local name=$1 line=$2 i
	shift 2
	for ((i = 0; i < 15; i++)); do
		clients_type "$name" "$line"
		lab_wait 3 "$@" && return
	done
	return 1
}
clients_shows() { grep -qaF -- "$2" "$LAB_RUN/log/$1"; } # NAME TEXT

# All programs but the gateway end; then the capture, then the gateway, which says what it knows of every flow.
clients_end() {
	local pids=() name
	for name in "$LAB_RUN"/pids/*; do
		name=${name##*/}
		case $name in gateway | capture) ;; *) pids+=("$(lab_pid "$name")") ;; esac
	done
	kill -TERM "${pids[@]}" 2>/dev/null
	for name in "$LAB_RUN"/pids/*; do
		name=${name##*/}
		case $name in gateway | capture) ;; *) lab_stop "$name" 2 ;; esac
	done
	lab_wait 10 clients_capture_rests
	lab_stop capture 5
	netns_check "the capture lost nothing" grep -q '^0 packets dropped by kernel' "$LAB_RUN/log/capture"
	netns_conserved
	netns_check "the gateway ends" netns_gateway_ends 10
}

clients_capture_rests() { # tcpdump has written what came
	local size
	size=$(stat -c %s "$CAPTURE")
	sleep 0.3
	[ "$(stat -c %s "$CAPTURE")" = "$size" ]
}

clients_rows() { # [VARIANT...]: rows on standard input
	cat >"$HERE/rows"
	netns_check "live: every flow is what it is" clients_seen "$LAB_RUN/eve.json"
	clients_seen "$LAB_RUN/eve.json" | sed 's/^/  /'
	clients_variants "$@"
}
clients_variants() { # [VARIANT...], else all
	local only=() name
	for name in "$@"; do only+=(--only "$name"); done
	netns_check "every variant is what its original is" "$NETNS_PY" "$NETNS_LIB/packet/variants.py" "$CAPTURE" --judge \
		${only[@]+"${only[@]}"}
}
clients_seen() { "$NETNS_PY" "$NETNS_LIB/packet/flows_seen.py" "$CAPTURE" "$1" <"$HERE/rows"; }
