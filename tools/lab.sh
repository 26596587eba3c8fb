#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The lab: a client and a server in one IP subnet, and the gateway as a transparent bridge
# between them, each in a network namespace of its own.
#
#   PREFIX-c (client)          PREFIX-g (gateway)           PREFIX-s (server)
#   c0 10.77.0.1 ----veth---- gA  <- sluice ->  gB ----veth---- s0 10.77.0.2
#      fd77::1                  no addresses                       fd77::2
#
# Run it as a command (tools/lab.sh help) or source it and call lab_up, lab_spawn, lab_down.
# Whatever it starts is noted in a private run directory; lab_down stops and removes exactly that,
# and may be called at any time, any number of times.
#
# The wire is the af_xdp driver on veth. Where AF_XDP cannot be had the lab falls back to
# af_packet and says so: then the kernel defragments IP before the gateway sees it and counts
# frames as sent that it lost, so fragment and conservation tests are skipped (LAB_WIRE tells).
#
# Settings (environment): LAB_PREFIX names the namespaces (default sluice; several labs may exist
# at once), LAB_MTU (1500), LAB_WIRE (af_xdp | af_packet), LAB_DATA_CPUS (JSON list, default [1],
# one entry per data lcore; a CPU may be named twice), LAB_HUGEPAGES (1: use them), LAB_MB (memory
# without them; default: what the gateway reckons), LAB_OPTIONS (more options of "sluice run", as
# "--set paths.state=/tmp/x"), LAB_TELEMETRY=1 (DPDK's telemetry socket in /run/dpdk/LAB_PREFIX-lab),
# LAB_STANDIN=1 (dpdk-testpmd forwards instead of
# sluice: tells a fault of the lab from one of the gateway).

LAB_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
LAB_PREFIX=${LAB_PREFIX:-sluice}
LAB_MTU=${LAB_MTU:-1500}
LAB_MB=${LAB_MB:-}
LAB_BUILD=${BUILD:-$LAB_ROOT/build}
LAB_SLUICE=${SLUICE:-$LAB_BUILD/app/sluice}
LAB_SLUICECTL=${SLUICECTL:-$LAB_ROOT/tools/sluicectl}
LAB_CLIENT4=10.77.0.1 LAB_SERVER4=10.77.0.2
LAB_CLIENT6=fd77::1 LAB_SERVER6=fd77::2
LAB_GATEWAY_EXIT= # of the gateway that lab_stop stopped, if this shell started it
LAB_RUN=          # private directory of this lab: pids, logs, configuration
LAB_STATE=/run/sluice-lab.$LAB_PREFIX # points to LAB_RUN

lab_error() { printf 'lab: %s\n' "$*" >&2; return 1; }
lab_cpus() { nproc --all; }
lab_namespace() {
	case $1 in
	client) echo "$LAB_PREFIX-c" ;;
	gateway) echo "$LAB_PREFIX-g" ;;
	server) echo "$LAB_PREFIX-s" ;;
	*) lab_error "no such side: $1 (client, gateway, server)" ;;
	esac
}

# 0 when the kernel has AF_XDP sockets and DPDK has the driver for them.
lab_af_xdp_available() {
	/usr/bin/python3 -c 'import socket; socket.socket(44, socket.SOCK_RAW, 0)' 2>/dev/null &&
		ls /usr/lib/*/dpdk/pmds-*/librte_net_af_xdp.so* >/dev/null 2>&1
}

# Foreground command on a side. Clients and servers stay off the CPU of the data lcore, which
# polls: a client that shares it starves.
lab_exec() {
	local ns
	ns=$(lab_namespace "$1") || return
	if [ "$1" != gateway ] && [ "$(lab_cpus)" -gt 1 ]; then
		shift
		ip netns exec "$ns" taskset -c 0 "$@"
	else
		shift
		ip netns exec "$ns" "$@"
	fi
}

# Of a process that is not a zombie; with it, a pid names one process for ever. State and time in
# one read: a process that is reaped between two would seem to live.
lab_start_time() {
	local stat
	read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
	stat=${stat##*) }
	# shellcheck disable=SC2086
	set -- $stat
	[ "$1" != Z ] && echo "${20}"
}

lab_alive() { # NAME: the process that lab_spawn started under that name still runs
	local pid start
	read -r pid start 2>/dev/null <"$LAB_RUN/pids/$1" || return 1
	[ -n "$start" ] && [ "$(lab_start_time "$pid")" = "$start" ]
}
lab_pid() { cut -d' ' -f1 "$LAB_RUN/pids/$1" 2>/dev/null; }

# lab_spawn NAME SIDE COMMAND...: in the background, a session of its own (so that Ctrl-C reaches
# only this script, which then stops it), output in LAB_RUN/log/NAME.
lab_spawn() {
	local name=$1 ns wrap=()
	ns=$(lab_namespace "$2") || return
	[ "$2" != gateway ] && [ "$(lab_cpus)" -gt 1 ] && wrap=(taskset -c 0)
	shift 2
	: >"$LAB_RUN/log/$name" # now: who waits for a word must not find that of an earlier one
	setsid ip netns exec "$ns" "${wrap[@]}" "$@" >"$LAB_RUN/log/$name" 2>&1 </dev/null &
	local pid=$!
	[ "$name" = gateway ] || disown "$pid" 2>/dev/null # whose exit code nobody asks for
	echo "$pid $(lab_start_time "$pid")" >"$LAB_RUN/pids/$name"
}

# lab_stop NAME [SECONDS [SIGNAL]]: asks, waits, then insists, group and all. 0 when it ended by
# itself, 1 when it had to be killed.
lab_stop() {
	local name=$1 tenths=$((${2:-5} * 10)) pid rc=0
	pid=$(lab_pid "$name")
	if [ -n "$pid" ] && lab_alive "$name"; then
		kill -s "${3:-TERM}" "$pid" 2>/dev/null
		while lab_alive "$name" && [ $((tenths--)) -gt 0 ]; do sleep 0.1; done
		if lab_alive "$name"; then
			rc=1
			kill -KILL -- "-$pid" 2>/dev/null || kill -KILL "$pid" 2>/dev/null
		fi
		kill -TERM -- "-$pid" 2>/dev/null # children left in its group
		[ "$name" = gateway ] && { wait "$pid" 2>/dev/null; LAB_GATEWAY_EXIT=$?; }
	fi
	rm -f "$LAB_RUN/pids/$name"
	return $rc
}

# lab_pings NAME: of what ping (not -q), spawned under that name, has sent: how many were answered, and
# how many before the last of these were not. One that is on its way when ping ends is none that was
# lost, which ping's own summary says.
lab_pings() {
	awk -F'icmp_seq=' '/bytes from/ { n++; seq = $2 + 0; if (seq > last) last = seq }
		END { print n + 0, last - n }' "$LAB_RUN/log/$1"
}

# lab_wait SECONDS COMMAND...: until the command succeeds.
lab_wait() {
	local tenths=$(($1 * 10))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $((tenths--)) -gt 0 ] || return 1
		sleep 0.1
	done
}

lab_attach() { # take up a lab that another call made
	LAB_RUN=$(readlink "$LAB_STATE" 2>/dev/null)
	[ -n "$LAB_RUN" ] && [ -d "$LAB_RUN" ] || { LAB_RUN=; return 1; }
	[ -r "$LAB_RUN/settings" ] || return 0
	# shellcheck disable=SC1091
	. "$LAB_RUN/settings"
}

lab_iface() { # SIDE NAME: up, no offloads, no IPv6 chatter beyond neighbour discovery
	local ns key
	ns=$(lab_namespace "$1")
	ip netns exec "$ns" ethtool -K "$2" tx off rx off tso off gso off gro off >/dev/null || return
	for key in accept_ra=0 accept_dad=0 dad_transmits=0 router_solicitations=0 autoconf=0; do
		ip netns exec "$ns" sysctl -qw "net.ipv6.conf.$2.$key" || return
	done
	# The gateway's own kernel must be deaf and dumb on its two ports.
	[ "$1" = gateway ] && { ip netns exec "$ns" sysctl -qw "net.ipv6.conf.$2.disable_ipv6=1" || return; }
	ip -n "$ns" link set "$2" mtu "$LAB_MTU" up
}

lab_up() {
	local side ns owner
	[ "$(id -u)" -eq 0 ] || { lab_error "namespaces need root: run it as root"; return 1; }
	if [ -z "${LAB_WIRE:-}" ]; then
		if lab_af_xdp_available; then LAB_WIRE=af_xdp; else LAB_WIRE=af_packet; fi
	fi
	if [ "$LAB_WIRE" != af_xdp ]; then
		printf 'lab: no AF_XDP here, the wire is af_packet: fragments and conservation cannot be tested\n' >&2
	fi
	if lab_attach; then
		owner=$(cat "$LAB_RUN/owner" 2>/dev/null)
		if [ -n "$owner" ] && [ "$(lab_start_time "${owner% *}")" = "${owner#* }" ]; then
			LAB_RUN=
			lab_error "the lab '$LAB_PREFIX' is in use by process ${owner% *}; set LAB_PREFIX for another one"
			return 1
		elif [ -e "$LAB_RUN/kept" ]; then
			LAB_RUN=
			lab_error "the lab '$LAB_PREFIX' was kept; remove it with: LAB_PREFIX=$LAB_PREFIX tools/lab.sh down"
			return 1
		fi
		lab_down # left behind by a run that was killed
	fi
	for side in client gateway server; do
		ns=$(lab_namespace $side)
		if [ -e "/run/netns/$ns" ]; then
			lab_error "namespace $ns exists and is not ours; set LAB_PREFIX to another name"
			return 1
		fi
	done
	LAB_RUN=$(mktemp -d "/tmp/$LAB_PREFIX-lab.XXXXXX") || return 1
	mkdir "$LAB_RUN/pids" "$LAB_RUN/log"
	echo "$$ $(lab_start_time $$)" >"$LAB_RUN/owner"
	ln -sfn "$LAB_RUN" "$LAB_STATE"
	printf 'LAB_WIRE=%q LAB_MTU=%q LAB_DATA_CPUS=%q LAB_HUGEPAGES=%q LAB_MB=%q LAB_STANDIN=%q\n' \
		"$LAB_WIRE" "$LAB_MTU" "${LAB_DATA_CPUS:-}" "${LAB_HUGEPAGES:-}" "$LAB_MB" \
		"${LAB_STANDIN:-}" >"$LAB_RUN/settings"
	for side in client gateway server; do
		ns=$(lab_namespace $side)
		ip netns add "$ns" || return 1
		echo "$ns" >>"$LAB_RUN/namespaces"
		ip -n "$ns" link set lo up || return 1
	done
	# One queue: af_xdp has no RSS, a second queue would be traffic that nobody reads.
	ip link add c0 numrxqueues 1 numtxqueues 1 netns "$LAB_PREFIX-c" type veth \
		peer name gA numrxqueues 1 numtxqueues 1 netns "$LAB_PREFIX-g" || return 1
	ip link add s0 numrxqueues 1 numtxqueues 1 netns "$LAB_PREFIX-s" type veth \
		peer name gB numrxqueues 1 numtxqueues 1 netns "$LAB_PREFIX-g" || return 1
	lab_iface client c0 && lab_iface gateway gA && lab_iface gateway gB && lab_iface server s0 || return 1
	ip -n "$LAB_PREFIX-c" addr add "$LAB_CLIENT4/24" dev c0 &&
		ip -n "$LAB_PREFIX-s" addr add "$LAB_SERVER4/24" dev s0 &&
		ip -n "$LAB_PREFIX-c" addr add "$LAB_CLIENT6/64" dev c0 nodad &&
		ip -n "$LAB_PREFIX-s" addr add "$LAB_SERVER6/64" dev s0 nodad
}

lab_down() {
	local name ns pid
	[ -n "$LAB_RUN" ] && [ -d "$LAB_RUN" ] || return 0 # none of ours
	[ -e "$LAB_RUN/pids/gateway" ] && lab_stop gateway 5
	for name in "$LAB_RUN"/pids/*; do
		[ -e "$name" ] && { pid=$(cut -d' ' -f1 "$name"); kill -TERM "$pid" 2>/dev/null; }
	done
	for name in "$LAB_RUN"/pids/*; do
		[ -e "$name" ] && lab_stop "${name##*/}" 2
	done
	if [ -r "$LAB_RUN/namespaces" ]; then
		# Whoever lives in a namespace that we made is a descendant of ours that left its
		# group (an sshd session) or a shell entered by hand; without this the namespace
		# would outlive its name.
		while read -r ns; do
			for pid in $(ip netns pids "$ns" 2>/dev/null); do
				[ "$pid" != $$ ] && kill -KILL "$pid" 2>/dev/null
			done
			ip netns del "$ns" 2>/dev/null
		done <"$LAB_RUN/namespaces"
	fi
	[ "$(readlink "$LAB_STATE")" = "$LAB_RUN" ] && rm -f "$LAB_STATE"
	if [ -n "${LAB_SAVE_LOGS:-}" ]; then
		mkdir -p "$LAB_SAVE_LOGS" && cp -r "$LAB_RUN/log" "$LAB_RUN"/*.json "$LAB_SAVE_LOGS" 2>/dev/null
	fi
	rm -rf "$LAB_RUN"
	LAB_RUN=
	return 0
}

# What the gateway of this lab is: gateway.json on standard output.
lab_gateway_config() {
	local cpus=${LAB_DATA_CPUS:-} memory telemetry='"--no-telemetry", '
	[ -z "${LAB_TELEMETRY:-}" ] || telemetry=
	[ -n "$cpus" ] || { [ "$(lab_cpus)" -gt 1 ] && cpus='[1]' || cpus='[0]'; }
	if [ -n "${LAB_HUGEPAGES:-}" ]; then
		memory='{"hugepages": true}'
	else
		memory="{\"hugepages\": false${LAB_MB:+, \"mb\": $LAB_MB}}"
	fi
	mkdir -p "$LAB_BUILD/signature-cache"
	cat <<-EOF
	{
	  "schema_version": 1,
	  "eal": ["--no-pci", $telemetry"--file-prefix=$LAB_PREFIX-lab"],
	  "ports": [
	    {"name": "lan", "device": "net_${LAB_WIRE}0,iface=gA"},
	    {"name": "wan", "device": "net_${LAB_WIRE}1,iface=gB"}
	  ],
	  "pairs": [{"inside": "lan", "outside": "wan", "mode": "bridge"}],
	  "lcores": {"data": $cpus, "control": 0},
	  "memory": $memory,
	  "limits": {"flows": 65536, "embryos": 65536, "classifying": 8192, "conn_cache": 16384},
	  "paths": {
	    "events": "$LAB_RUN/eve.json",
	    "control": "$LAB_RUN/control.sock",
	    "signatures": "$LAB_ROOT/config/signatures",
	    "cache": "$LAB_BUILD/signature-cache"
	  },
	  "http": {"listen": "127.0.0.1:9111"},
	  "stats_interval_s": 5,
	  "idle_sleep": true
	}
	EOF
}

lab_ctl() { "$LAB_SLUICECTL" --socket "$LAB_RUN/control.sock" "$@"; }

# A number out of `sluicectl stats --json` by the path of its keys; an object is summed. Prints ?
# when there is no such number.
lab_stat() {
	lab_ctl stats --json 2>/dev/null | /usr/bin/python3 -c '
import json, sys
node = json.load(sys.stdin)
for key in sys.argv[1:]:
    node = node[key]
print(sum(node.values()) if isinstance(node, dict) else node)' "$@" 2>/dev/null || echo '?'
}
lab_balanced() { [ "$(lab_stat unaccounted)" = 0 ]; }

# lab_gateway_start [POLICY]: copies the policy to LAB_RUN/policy.json (where a reload reads it
# again), starts the gateway, and returns when it forwards.
lab_gateway_start() {
	if [ -n "${LAB_STANDIN:-}" ]; then
		lab_spawn gateway gateway dpdk-testpmd --no-shconf --no-huge -m 512 --no-pci --no-telemetry \
			"--file-prefix=$LAB_PREFIX-lab" -l 0,1 --vdev "net_${LAB_WIRE}0,iface=gA" \
			--vdev "net_${LAB_WIRE}1,iface=gB" -- --forward-mode=io --auto-start --nb-cores=1 \
			--total-num-mbufs=16384 --no-mlockall --stats-period 5
		lab_wait 20 lab_exec client ping -c 1 -W 1 "$LAB_SERVER4"
		return
	fi
	lab_gateway_config >"$LAB_RUN/gateway.json" || return 1
	cp "${1:-$LAB_ROOT/config/policy-pass.json}" "$LAB_RUN/policy.json" || return 1
	# shellcheck disable=SC2086 # words
	lab_spawn gateway gateway "$LAB_SLUICE" run -c "$LAB_RUN/gateway.json" -p "$LAB_RUN/policy.json" \
		${LAB_OPTIONS:-} || return 1
	if ! lab_wait 30 lab_gateway_settled || ! lab_alive gateway; then
		lab_error "the gateway did not start; its last words:"
		tail -n 15 "$LAB_RUN/log/gateway" >&2
		return 1
	fi
}
lab_gateway_settled() { ! lab_alive gateway || lab_ctl stats --json; } # answers, or has died

# lab_policy FILE: puts it in force; returns when the last lcore obeys it.
lab_policy() { cp "$1" "$LAB_RUN/policy.json" && lab_ctl policy reload; }

lab_help() {
	sed -n '3,24s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
	cat <<-EOF

	tools/lab.sh up                        make the lab
	tools/lab.sh gateway start [POLICY]    start sluice in it (default: config/policy-pass.json)
	tools/lab.sh gateway stop
	tools/lab.sh exec SIDE COMMAND...      run something on client, gateway or server
	tools/lab.sh ctl ARGUMENTS...          sluicectl, talking to this lab's gateway
	tools/lab.sh status                    what runs, and where its files are
	tools/lab.sh config                    print the gateway.json
	tools/lab.sh down                      stop and remove everything
	EOF
}

lab_status() {
	local name
	echo "lab '$LAB_PREFIX': wire $LAB_WIRE, MTU $LAB_MTU, files in $LAB_RUN"
	for name in "$LAB_RUN"/pids/*; do
		[ -e "$name" ] || continue
		name=${name##*/}
		printf '  %-12s pid %-7s %s\n' "$name" "$(lab_pid "$name")" "$(lab_alive "$name" && echo runs || echo ended)"
	done
}

lab_main() {
	local verb=${1:-help}
	[ $# -gt 0 ] && shift
	case $verb in help | -h | --help) lab_help; return ;; esac
	[ "$(id -u)" -eq 0 ] || { lab_error "namespaces need root: run it as root"; return 1; }
	if [ "$verb" = up ]; then
		trap 'lab_down; exit 130' INT TERM HUP
		lab_up || { lab_down; return 1; }
		: >"$LAB_RUN/kept"
		lab_status
		return
	fi
	lab_attach || { [ "$verb" = down ] && return 0; lab_error "there is no lab '$LAB_PREFIX': tools/lab.sh up"; return 1; }
	case $verb in
	down) lab_down ;;
	status) lab_status ;;
	config) lab_gateway_config ;;
	exec) lab_exec "$@" ;;
	ctl) lab_ctl "$@" ;;
	gateway)
		case ${1:-} in
		start) lab_alive gateway && { lab_error "the gateway runs already"; return 1; }; lab_gateway_start "${2:-}" ;;
		stop) lab_stop gateway 5 ;;
		*) lab_help; return 2 ;;
		esac
		;;
	*) lab_help; return 2 ;;
	esac
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then lab_main "$@"; fi
