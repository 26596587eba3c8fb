# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What tests/netns/scan_*.test share: sourced after netns.sh. A gateway that scans, with the database in LAB_RUN/db.

SCAN_PROGRAM=$LAB_BUILD/app/scan/program/sluice-scan
case $SCAN_PROGRAM in /*) ;; *) SCAN_PROGRAM=$PWD/$SCAN_PROGRAM ;; esac

scan_lab_needs() { # PROGRAM...
	local tool
	[ -z "${LAB_STANDIN:-}" ] || { echo "testpmd has no policies"; exit 77; }
	for tool in "$@"; do
		command -v "$tool" >/dev/null || { echo "no $tool (tools/packages.sh)"; exit 77; }
	done
	[ -x "$SCAN_PROGRAM" ] || { echo "sluice-scan is not built (libclamav-dev)"; exit 77; }
	[ -d /usr/share/clamav-testfiles ] || { echo "no clamav-testfiles (tools/packages.sh)"; exit 77; }
}
scan_lab_policy() { # NAME SCAN [KEYS]: LAB_RUN/NAME.json, of what is within `scan` and beside it
	cat >"$LAB_RUN/$1.json" <<-EOT
		{"schema_version": 1, "rules": [{"id": "viruses", "match": {}, "audit": {"transfers": true, "files": true}, "scan": {$2}${3:+, $3}}]}
	EOT
}
scan_lab_gateway() { # NAME [KEYS of scan]
	mkdir -p "$LAB_RUN/tmp"
	chmod 755 "$LAB_RUN" "$LAB_RUN/db"
	chmod 644 "$LAB_RUN"/db/*
	# one host asks for hundreds of files in a second
	LAB_OPTIONS="--set events.source_per_s=0 --set paths.files=$LAB_RUN/store --set scan={\"engine\":\"clamav\",\"program\":\"$SCAN_PROGRAM\",\"database\":\"$LAB_RUN/db\",\"tmp\":\"$LAB_RUN/tmp\",\"user\":\"nobody\"${2:+,$2}}"
	lab_gateway_start "$LAB_RUN/$1.json" || netns_fail "the gateway does not start"
}
scan_lab_ready() { lab_wait 60 grep -q 'scanner: ready' "$LAB_RUN/log/gateway"; }
scan_lab_rests() { [ "$(lab_stat counters scan_files)" = 0 ]; }
