# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# How the operator's scripts talk: sourced, never run. Colours only when standard output is a
# terminal (and NO_COLOR is unset); a step is one line, on a terminal it is rewritten in place.

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
	UI_TTY=1
	UI_BOLD=$'\e[1m' UI_DIM=$'\e[2m' UI_RED=$'\e[31m' UI_GREEN=$'\e[32m' UI_YELLOW=$'\e[33m'
	UI_OFF=$'\e[0m' UI_CLEAR=$'\r\e[K'
else
	UI_TTY=
	UI_BOLD='' UI_DIM='' UI_RED='' UI_GREEN='' UI_YELLOW='' UI_OFF='' UI_CLEAR=''
fi
UI_OPEN= # a step line without its end is on the screen

ui_end_line() {
	[ -n "$UI_OPEN" ] && [ -n "$UI_TTY" ] && printf '%s' "$UI_CLEAR"
	UI_OPEN=
	return 0
}

ui_title() { ui_end_line; printf '\n%s%s%s\n' "$UI_BOLD" "$*" "$UI_OFF"; }
ui_say() { ui_end_line; printf '  %s\n' "$*"; }
ui_ok() { ui_end_line; printf '  %sok%s    %s\n' "$UI_GREEN" "$UI_OFF" "$*"; }
ui_warn() { ui_end_line; printf '  %snote%s  %s\n' "$UI_YELLOW" "$UI_OFF" "$*"; }
ui_bad() { ui_end_line; printf '  %sfail%s  %s\n' "$UI_RED" "$UI_OFF" "$*"; }
ui_die() { ui_end_line; printf '%s%s: %s%s\n' "$UI_RED" "${0##*/}" "$*" "$UI_OFF" >&2; exit 1; }

# A line that the next one replaces; only on a terminal.
ui_progress() {
	[ -n "$UI_TTY" ] || return 0
	local width=${COLUMNS:-80} text=$*
	printf '%s  %s%s%s' "$UI_CLEAR" "$UI_DIM" "${text:0:$((width - 4))}" "$UI_OFF"
	UI_OPEN=1
}

ui_now() { date +%s.%N; }
# Seconds between two ui_now values, with one decimal.
ui_span() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f", b - a }'; }
