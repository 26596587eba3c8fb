# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What tests/netns/*.test share that look at both sides' wires: sourced after netns.sh. A check that something did not arrive
# names what did, and looks at reassembled octets (tests/lib/packet/wire.py).

# wire_watch NAME FILTER: captures NAME-client.pcap and NAME-server.pcap, of both directions.
wire_watch() {
	local side
	for side in client server; do
		lab_spawn "dump-$1-$side" $side tcpdump -Z root -i "${side:0:1}0" -s 0 -B 16384 -U -n --immediate-mode -w "$LAB_RUN/$1-$side.pcap" "$2"
		lab_wait 30 test -s "$LAB_RUN/$1-$side.pcap" || return
	done
}
# wire_watched NAME: they end, and have all.
wire_watched() {
	local side whole=0
	for side in client server; do
		lab_stop "dump-$1-$side"
		grep '^[0-9]* packets dropped by kernel' "$LAB_RUN/log/dump-$1-$side"
		grep -q '^0 packets dropped by kernel' "$LAB_RUN/log/dump-$1-$side" || whole=1
	done
	return $whole
}
wire_address() { [ "$1" = client ] && echo "$LAB_CLIENT4" || echo "$LAB_SERVER4"; }
# wire_arrived|wire_sent NAME SIDE [has|has-hex|none|none-hex TEXT|fold]...: at that side's own wire.
wire_arrived() { $NETNS_PY "$NETNS_LIB/packet/wire.py" octets "$LAB_RUN/$1-$2.pcap" to "$(wire_address "$2")" "${@:3}"; }
wire_sent() { $NETNS_PY "$NETNS_LIB/packet/wire.py" octets "$LAB_RUN/$1-$2.pcap" from "$(wire_address "$2")" "${@:3}"; }
# wire_no_answer NAME PATH [CODING]: of a response that the server sent not an octet of the body arrived.
wire_no_answer() { $NETNS_PY "$NETNS_LIB/packet/wire.py" answers "$LAB_RUN/$1-client.pcap" "$LAB_RUN/$1-server.pcap" "${@:2}"; }
# wire_reset CODE COMMAND...: it ends with CODE, by which a program says that its connection was reset ("55|56": either of these).
wire_reset() {
	local codes=$1 code
	shift
	"$@"
	code=$?
	echo "ended with $code, not $codes"
	[[ "|$codes|" = *"|$code|"* ]]
}
