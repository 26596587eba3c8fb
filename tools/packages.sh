# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# The Debian packages that building, the lab and the checks need, and how they are installed.
# Sourced by tools/quickstart and tools/check; needs tools/ui.sh. One list, so that the two and
# the README cannot differ.

# To build.
PACKAGES_BUILD="build-essential meson ninja-build pkg-config libdpdk-dev libhyperscan-dev
	libjansson-dev libevent-dev libssl-dev libseccomp-dev libsodium-dev libutf8proc-dev libcmocka-dev uthash-dev
	zlib1g-dev libbrotli-dev libclamav-dev libminiupnpc-dev libnatpmp-dev libzstd-dev python3"
# For the lab and its story.
PACKAGES_LAB="iproute2 ethtool iputils-ping procps tcpdump curl nginx-light openssl openssh-server
	openssh-client transmission-daemon transmission-cli"
# Programs that speak what the gateway knows (tests/netns/clients_*.test, bittorrent_*.test); without one its test fails, or is skipped where tools/check runs without root.
PACKAGES_CLIENTS="amule-daemon amule-utils atftp atftpd baresip-core coturn dbus deluge-console deluged dhtnode dovecot-imapd dovecot-pop3d
	eiskaltdcpp-daemon faketime fetchmail irssi isync jami-daemon libnfs-utils microdc2 miniupnpd-nftables mumble-server ncdc nebula nfs-ganesha
	nfs-ganesha-vfs ngircd ngtcp2-client ngtcp2-server opentracker openvpn postfix prosody python3-pyftpdlib python3-slixmpp python3-telethon
	qbittorrent-nox rpcbind rtorrent samba shadowsocks-libev sip-tester smbclient swaks syncthing tor toxcore-utils toxic uhub vsftpd"
# For the checks, beyond both.
PACKAGES_CHECK="bash-completion bindfs clamav-testfiles clang clang-format libclang-rt-14-dev codespell debhelper dpdk-dev file git iperf3 jq libndpi-bin
	lintian logrotate mandoc nftables python3-clang python3-matplotlib strace tshark valgrind wget python3-scapy python3-jsonschema
	python3-prometheus-client prometheus chromium chromium-driver python3-selenium python3-brotli tzdata zstd
	libnginx-mod-http-brotli-filter libmemcached11 libmemcachedutil2 libpcre2-posix3
	$PACKAGES_CLIENTS"
# The last three are what proftpd needs, which tests/netns/content_ftp.test unpacks: it conflicts with vsftpd.

PACKAGES_DOWNLOAD_S=0 # seconds spent downloading, by the last packages_install
PACKAGES_INSTALL_S=0  # seconds spent unpacking and configuring
PACKAGES_LOG=

POLICY_RC=/usr/sbin/policy-rc.d
POLICY_RC_STATE= # what packages_guard_off has to undo: "", "made" or "moved"

# The words of $* that are not installed.
packages_missing() {
	local p
	for p in "$@"; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] ||
			printf '%s ' "$p"
	done
}

# Debian starts a daemon when its package is installed. None of ours may: the lab starts its own,
# in its namespaces. invoke-rc.d asks this file; 101 means "do not".
packages_guard_on() {
	[ -z "$POLICY_RC_STATE" ] || return 0
	if [ -e "$POLICY_RC" ] || [ -L "$POLICY_RC" ]; then
		mv "$POLICY_RC" "$POLICY_RC.sluice-saved" || return 1
		POLICY_RC_STATE=moved
	else
		POLICY_RC_STATE=made
	fi
	printf '#!/bin/sh\n# made by sluice while it installs packages; it removes it again\nexit 101\n' \
		>"$POLICY_RC" && chmod 755 "$POLICY_RC"
}

packages_guard_off() { # safe to call at any time, more than once
	[ -n "$POLICY_RC_STATE" ] || return 0
	rm -f "$POLICY_RC"
	[ "$POLICY_RC_STATE" = moved ] && mv "$POLICY_RC.sluice-saved" "$POLICY_RC"
	POLICY_RC_STATE=
}

# apt-get with its machine-readable status turned into one progress line. On a terminal the line
# is rewritten; in a log there is one line per started 25 %.
packages_apt() {
	local verb=$1 rc_file last=-1 kind item percent text rc
	shift
	rc_file=$(mktemp)
	while IFS=: read -r kind item percent text; do
		percent=${percent%%[.,]*}
		case $kind in dlstatus | pmstatus) ;; *) continue ;; esac
		[[ $percent =~ ^[0-9]+$ ]] || continue
		if [ -n "$UI_TTY" ]; then
			ui_progress "$verb ${percent}%  $text"
		elif [ $((percent / 25)) -gt "$last" ]; then
			last=$((percent / 25))
			ui_say "$verb ${percent}%"
		fi
	done < <(
		# apt keeps stdout for people and descriptor 3 for us.
		DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-remove --no-install-recommends \
			-o APT::Status-Fd=3 -o Dpkg::Options::=--force-confold -o Dpkg::Use-Pty=0 \
			-o DPkg::Lock::Timeout=120 "$@" 3>&1 >>"$PACKAGES_LOG" 2>&1 </dev/null
		echo $? >"$rc_file"
	)
	rc=$(cat "$rc_file")
	rm -f "$rc_file"
	ui_end_line
	return "${rc:-1}"
}

# packages_install PACKAGE...: installs what is missing. 0, or 1 after saying what to do.
packages_install() {
	local missing t0 t1 t2
	missing=$(packages_missing "$@")
	PACKAGES_DOWNLOAD_S=0 PACKAGES_INSTALL_S=0
	if [ -z "$missing" ]; then
		ui_ok "packages: nothing is missing"
		return 0
	fi
	ui_say "packages to install: $missing"
	PACKAGES_LOG=$(mktemp /tmp/sluice-packages.XXXXXX)
	t0=$(ui_now)
	# shellcheck disable=SC2086
	if ! packages_apt "downloading" install --download-only $missing; then
		ui_progress "package lists are old or absent: apt-get update"
		# shellcheck disable=SC2086
		if ! apt-get -q update >>"$PACKAGES_LOG" 2>&1 ||
			! packages_apt "downloading" install --download-only $missing; then
			t1=$(ui_now)
			PACKAGES_DOWNLOAD_S=$(ui_span "$t0" "$t1")
			packages_explain "$missing"
			return 1
		fi
	fi
	t1=$(ui_now)
	packages_guard_on || { ui_bad "cannot write $POLICY_RC"; return 1; }
	# shellcheck disable=SC2086
	packages_apt "installing" install $missing
	local rc=$?
	packages_guard_off
	t2=$(ui_now)
	PACKAGES_DOWNLOAD_S=$(ui_span "$t0" "$t1")
	PACKAGES_INSTALL_S=$(ui_span "$t1" "$t2")
	if [ $rc -ne 0 ] || [ -n "$(packages_missing "$@")" ]; then
		packages_explain "$missing"
		return 1
	fi
	rm -f "$PACKAGES_LOG"
	ui_ok "packages: downloaded in $PACKAGES_DOWNLOAD_S s, installed in $PACKAGES_INSTALL_S s"
}

packages_explain() {
	ui_bad "apt-get failed; the end of $PACKAGES_LOG:"
	tail -n 8 "$PACKAGES_LOG" | sed 's/^/        /'
	ui_say "To mend it: make 'apt-get update' work, then as root:"
	ui_say "  apt-get install --no-remove --no-install-recommends $1"
}
