# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What a tests/cli/*.test shares: cli_begin makes a private folder DIR and removes it however the
# script ends; cli_expect asserts exit code and words of a command's output; cli_end tells.

CLI_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
BUILD=${BUILD:-$CLI_ROOT/build}
SLUICE=${SLUICE:-$BUILD/app/sluice}
CLI_FAILED=0 CLI_DONE=0 CLI_PIDS=()

cli_begin() {
	[ -x "$SLUICE" ] || { echo "no $SLUICE: build first"; exit 1; }
	DIR=$(mktemp -d /tmp/sluice-cli.XXXXXX) || exit 1
	chmod 755 "$DIR"
	trap cli_cleanup EXIT
	trap 'exit 130' INT TERM HUP
}
cli_cleanup() {
	local rc=$? pid
	trap - EXIT
	# Only what still runs is in the list: pids are used again.
	for pid in "${CLI_PIDS[@]}"; do kill -KILL "$pid" 2>/dev/null; done
	[ -z "${CLI_NETNS:-}" ] || ip netns del "$CLI_NETNS" 2>/dev/null
	rm -rf -- "$DIR"
	exit "$rc"
}
# cli_spawn LOG COMMAND...: in the background, PID; cli_reap PID waits and gives its exit code. Not to
# be called in a subshell: only the parent may wait.
cli_spawn() {
	local log=$1
	shift
	rm -f "$log" # the last one's words must not be taken for this one's
	(trap - EXIT INT TERM HUP; exec "$@") >"$log" 2>&1 </dev/null &
	PID=$!
	CLI_PIDS+=("$PID")
}
cli_reap() {
	local rc pid left=()
	wait "$1" 2>/dev/null
	rc=$?
	for pid in "${CLI_PIDS[@]}"; do [ "$pid" = "$1" ] || left+=("$pid"); done
	CLI_PIDS=("${left[@]}")
	return $rc
}
cli_fail() { # WHAT DETAIL
	CLI_FAILED=$((CLI_FAILED + 1))
	printf 'FAILED: %s: %s\n' "$1" "$2"
}
# cli_expect WHAT CODE WORD... -- COMMAND...: the exit code, and every WORD in what it prints.
cli_expect() {
	local what=$1 code=$2 words=() out rc word
	shift 2
	while [ "$1" != -- ]; do words+=("$1"); shift; done
	shift
	CLI_DONE=$((CLI_DONE + 1))
	out=$(timeout 60 "$@" 2>&1 </dev/null)
	rc=$?
	if [ $rc -ne "$code" ]; then
		cli_fail "$what" "exit code $rc, not $code"
		printf '%s\n' "$out" | tail -n 5 | sed 's/^/  /'
		return 1
	fi
	for word in "${words[@]}"; do
		case $out in
		*"$word"*) ;;
		*)
			cli_fail "$what" "does not say \"$word\""
			printf '%s\n' "$out" | tail -n 5 | sed 's/^/  /'
			return 1
			;;
		esac
	done
	echo "ok: $what"
}
cli_check() { # WHAT COMMAND...
	local what=$1 out
	shift
	CLI_DONE=$((CLI_DONE + 1))
	if out=$("$@" 2>&1); then echo "ok: $what"; else cli_fail "$what" "$out"; fi
}
cli_wait() { # SECONDS COMMAND...
	local tenths=$(($1 * 10))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $((tenths--)) -gt 0 ] || return 1
		sleep 0.1
	done
}
cli_end() {
	echo "$((CLI_DONE - CLI_FAILED)) of $CLI_DONE held"
	[ "$CLI_FAILED" -eq 0 ] && [ "$CLI_DONE" -gt 0 ]
	exit
}
