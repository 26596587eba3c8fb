# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What a tests/netns/*.test shares: sourced after tools/lab.sh. netns_begin NAME makes a lab of its
# own and removes it however the script ends; netns_check WHAT COMMAND... asserts; netns_end tells.

NETNS_PY=/usr/bin/python3
NETNS_LIB=$LAB_ROOT/tests/lib
NETNS_FAILED=0 NETNS_DONE=0

netns_begin() {
	[ "$(id -u)" -eq 0 ] || { echo "needs root"; exit 77; }
	[ -x "$LAB_SLUICE" ] || [ -n "${LAB_STANDIN:-}" ] || { echo "no $LAB_SLUICE: build first"; exit 1; }
	LAB_PREFIX="st-$1-$$" LAB_STATE="/run/sluice-lab.st-$1-$$"
	trap 'netns_cleanup $?' EXIT
	trap 'exit 130' INT TERM HUP
	lab_up || exit 1
}
netns_cleanup() {
	trap - EXIT
	[ "$1" = 0 ] || { echo "--- gateway's last words"; tail -n 20 "$LAB_RUN/log/gateway" 2>/dev/null; }
	lab_down
	exit "$1"
}
netns_note() { echo "note: $*"; }
netns_fail() { echo "FAILED: $*"; exit 1; }
netns_check() { # WHAT COMMAND...
	local what=$1 out=$LAB_RUN/check.out
	shift
	NETNS_DONE=$((NETNS_DONE + 1))
	# Not in a subshell: only the parent may wait for the gateway's exit code.
	if "$@" >"$out" 2>&1; then
		echo "ok: $what"
	else
		NETNS_FAILED=$((NETNS_FAILED + 1))
		printf 'FAILED: %s\n' "$what"
		tail -n 6 "$out" | sed 's/^/  /'
	fi
}
netns_conserved() {
	[ -n "${LAB_STANDIN:-}" ] && return
	[ "$LAB_WIRE" = af_xdp ] || { netns_note "conservation: not tested, the wire is $LAB_WIRE"; return; }
	lab_wait 30 lab_balanced
	netns_check "no packet unaccounted for" test "$(lab_stat unaccounted)" = 0
}
# netns_gateway_ends SECONDS: SIGTERM, and its exit code is 0 within that time.
netns_gateway_ends() {
	local begin
	begin=$(date +%s%N)
	lab_stop gateway "$1" || { echo "had to be killed after $1 s"; return 1; }
	[ -n "${LAB_STANDIN:-}" ] && return 0
	local rc=${LAB_GATEWAY_EXIT:-?}
	echo "ended $rc after $((($(date +%s%N) - begin) / 1000000)) ms"
	[ "$rc" = 0 ]
}
netns_end() {
	echo "$((NETNS_DONE - NETNS_FAILED)) of $NETNS_DONE held"
	[ "$NETNS_FAILED" -eq 0 ] && [ "$NETNS_DONE" -gt 0 ]
	exit
}
