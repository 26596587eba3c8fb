# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# The story that quickstart tells with real programs, also run by tests/netns/story.test.
# Sourced; needs tools/ui.sh and tools/lab.sh, and a lab that is up. Each check adds a row to the
# table; story_table prints it and returns 0 only if every row held.

STORY_PY=/usr/bin/python3
STORY_LIB=$LAB_ROOT/tests/lib
STORY_WEB_MB=100    # what curl fetches
STORY_FIRST_MB=24   # the torrent that is allowed to finish
STORY_SECOND_MB=192 # the torrent that is running when the policy changes
STORY_THIRD_MB=8    # the torrent that is tried afterwards, from another seeder
STORY_UTP_MB=64     # the torrent that is running over uTP when the policy changes
STORY_RATE_KB=2500  # upload limit of a seeder while that happens
STORY_QUIET_S=20    # how long nothing may move after the reload
STORY_WHAT=() STORY_WANT=() STORY_GOT=() STORY_HELD=()
STORY_FAILED=0

# story_row WHAT EXPECTED HAPPENED CONDITION...: the condition is a command.
story_row() {
	local what=$1 want=$2 got=$3
	shift 3
	STORY_WHAT+=("$what") STORY_WANT+=("$want") STORY_GOT+=("$got")
	if "$@"; then
		STORY_HELD+=(yes)
		ui_ok "$what: $got"
	else
		STORY_HELD+=(NO)
		STORY_FAILED=$((STORY_FAILED + 1))
		ui_bad "$what: $got (expected: $want)"
	fi
}

story_table() {
	local i mark
	ui_end_line
	printf '\n%s%-46s %-27s %-42s %s%s\n' "$UI_BOLD" "WHAT" "EXPECTED" "HAPPENED" "HELD" "$UI_OFF"
	for i in "${!STORY_WHAT[@]}"; do
		mark=$UI_GREEN
		[ "${STORY_HELD[i]}" = yes ] || mark=$UI_RED
		printf '%-46s %-27s %-42s %s%s%s\n' "${STORY_WHAT[i]}" "${STORY_WANT[i]}" "${STORY_GOT[i]}" \
			"$mark" "${STORY_HELD[i]}" "$UI_OFF"
	done
	[ "$STORY_FAILED" -eq 0 ] && [ ${#STORY_WHAT[@]} -gt 0 ]
}

story_rpc() { # SIDE RPC_PORT VERB...
	local side=$1
	shift
	lab_exec "$side" $STORY_PY "$STORY_LIB/peers/transmission.py" "$@"
}
story_transmission() { # NAME SIDE PEER_PORT RPC_PORT [KEY=JSON...]: starts one, in LAB_RUN/NAME
	local name=$1 side=$2 port=$3 rpc=$4
	shift 4
	$STORY_PY "$STORY_LIB/peers/transmission.py" settings "$LAB_RUN/$name" "$port" "$rpc" "$@" &&
		lab_spawn "$name" "$side" transmission-daemon --foreground --config-dir "$LAB_RUN/$name" &&
		lab_wait 30 story_rpc "$side" "$rpc" bytes
}
story_torrent() { # NAME MB SEEDER RPC_PORT SEEDER_PORT: a random file, its torrent, seeded
	head -c "$(($2 << 20))" /dev/urandom >"$LAB_RUN/$3/$1.bin" || return 1
	local hash
	hash=$($STORY_PY "$STORY_LIB/peers/transmission.py" torrent "$LAB_RUN/$3/$1.bin" \
		http://127.0.0.1:6969/announce "$LAB_RUN/$1.torrent") || return 1
	STORY_PEERS+=("$hash=$LAB_SERVER4:$5")
	story_rpc server "$4" add "$LAB_RUN/$1.torrent" "$LAB_RUN/$3"
}
story_sha() { sha256sum "$1" 2>/dev/null | cut -c1-64; }
story_same() { [ -s "$1" ] && [ -s "$2" ] && [ "$(story_sha "$1")" = "$(story_sha "$2")" ]; }
story_events() { # TYPE: how many events of that type are in eve.json
	grep -sE "\"event_type\": ?\"$1\"" "$LAB_RUN/eve.json" | wc -l
}
story_seen_field() { # LOG KEY: of the JSON line that bt_peer.py printed
	$STORY_PY -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' \
		"$LAB_RUN/log/$1" "$2" 2>/dev/null || echo '?'
}

story_nginx() {
	mkdir -p "$LAB_RUN/web/tmp" && head -c "$((STORY_WEB_MB << 20))" /dev/urandom >"$LAB_RUN/web/web.bin"
	cat >"$LAB_RUN/web/nginx.conf" <<-EOF
	user root;
	daemon off;
	worker_processes 1;
	pid $LAB_RUN/web/nginx.pid;
	error_log $LAB_RUN/log/nginx.error;
	events { worker_connections 64; }
	http {
	  access_log off;
	  sendfile on;
	  client_body_temp_path $LAB_RUN/web/tmp;
	  proxy_temp_path $LAB_RUN/web/tmp;
	  fastcgi_temp_path $LAB_RUN/web/tmp;
	  uwsgi_temp_path $LAB_RUN/web/tmp;
	  scgi_temp_path $LAB_RUN/web/tmp;
	  server { listen 80; listen [::]:80; root $LAB_RUN/web; }
	}
	EOF
	lab_spawn nginx server nginx -p "$LAB_RUN/web" -e "$LAB_RUN/log/nginx.error" -c "$LAB_RUN/web/nginx.conf" &&
		lab_wait 30 lab_exec server curl -fsSI http://127.0.0.1/web.bin
}

# The scanner of the gateway: the program where nobody but root can change it, as the gateway demands and a
# clone in somebody's home is not; a database of one signature; and the files that it is about. Test.Eicar is the
# EICAR string, at any place. It is put together here: no file of the repository has it whole.
story_scanner() {
	local dir=$LAB_RUN/scan web=$LAB_RUN/web start='X5O!P%@AP[4\PZX54(P^)7CC)7}$'
	STORY_SCANNER=$dir/sluice-scan
	chmod 711 "$LAB_RUN" && mkdir "$dir" "$dir/db" "$dir/tmp" || return 1 # its child is nobody
	install -m 755 "$LAB_BUILD/app/scan/program/sluice-scan" "$dir" 2>/dev/null && [ -x "$STORY_SCANNER" ] ||
		STORY_SCANNER=$LAB_BUILD/app/scan/program/sluice-scan # /tmp is mounted with noexec
	# shellcheck disable=SC2016
	printf '%sEICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*' "$start" >"$web/eicar.com" &&
		sed 's/ANTIVIRUS/ANTIVIRAL/' "$web/eicar.com" >"$web/twin.com" &&
		printf 'Test.Eicar:0:*:%s\n' "$(od -An -v -tx1 "$web/eicar.com" | tr -d ' \n')" >"$dir/db/eicar.ndb"
}

story_sshd() {
	local pam=no
	# Without PAM sshd refuses a locked account; with PAM a minimal machine may lack its files.
	getent shadow root | cut -d: -f2 | grep -q '^!' && pam=yes
	mkdir -p "$LAB_RUN/ssh" /run/sshd || return 1
	ssh-keygen -q -t ed25519 -N '' -f "$LAB_RUN/ssh/host" &&
		ssh-keygen -q -t ed25519 -N '' -f "$LAB_RUN/ssh/user" || return 1
	cat >"$LAB_RUN/ssh/sshd_config" <<-EOF
	Port 22
	ListenAddress $LAB_SERVER4
	HostKey $LAB_RUN/ssh/host
	AuthorizedKeysFile $LAB_RUN/ssh/user.pub
	PidFile none
	StrictModes no
	UsePAM $pam
	PermitRootLogin prohibit-password
	PasswordAuthentication no
	PrintMotd no
	EOF
	lab_spawn sshd server /usr/sbin/sshd -D -e -f "$LAB_RUN/ssh/sshd_config"
	lab_wait 30 lab_exec server $STORY_PY -c "import socket; socket.create_connection(('$LAB_SERVER4', 22), 1)"
}

# Everything that listens in the server's namespace, and the client's tracker.
story_services() {
	STORY_PEERS=()
	ui_progress "starting nginx and sshd in the server's namespace"
	story_nginx || { ui_bad "nginx did not start"; tail -n 5 "$LAB_RUN"/log/nginx* >&2; return 1; }
	story_sshd || { ui_bad "sshd did not start"; tail -n 5 "$LAB_RUN/log/sshd" >&2; return 1; }
	story_scanner || { ui_bad "no folder for the scanner could be made"; return 1; }
	ui_progress "starting three transmission seeders and their torrents"
	story_transmission seeder1 server 51413 9091 &&
		story_transmission seeder2 server 51414 9092 &&
		story_transmission seeder3 server 51415 9093 utp-enabled=true \
			speed-limit-up=$STORY_RATE_KB speed-limit-up-enabled=true &&
		story_torrent first "$STORY_FIRST_MB" seeder1 9091 51413 &&
		story_torrent second "$STORY_SECOND_MB" seeder1 9091 51413 &&
		story_torrent third "$STORY_THIRD_MB" seeder2 9092 51414 &&
		story_torrent utp "$STORY_UTP_MB" seeder3 9093 51415 ||
		{ ui_bad "transmission did not start"; tail -n 5 "$LAB_RUN"/log/seeder* >&2; return 1; }
	lab_spawn tracker client $STORY_PY "$STORY_LIB/peers/tracker.py" 127.0.0.1:6969 "${STORY_PEERS[@]}"
	lab_spawn scripted server $STORY_PY "$STORY_LIB/peers/bt_peer.py" listen "$LAB_SERVER4:51420"
	lab_wait 60 story_rpc server 9091 done && lab_wait 60 story_rpc server 9092 done &&
		lab_wait 60 story_rpc server 9093 done ||
		{ ui_bad "the seeders did not check their files in time"; return 1; }
	ui_ok "server side: nginx ($STORY_WEB_MB MB file), sshd, three transmission seeders, scripted peers"
}

# Long-lived innocents that the whole story must leave alone.
story_innocents() {
	lab_spawn ping client ping -i 0.2 "$LAB_SERVER4"
	lab_spawn ssh client ssh -F none -o BatchMode=yes -o StrictHostKeyChecking=no -o LogLevel=ERROR \
		-o UserKnownHostsFile=/dev/null -o ServerAliveInterval=2 -o ServerAliveCountMax=3 \
		-i "$LAB_RUN/ssh/user" "root@$LAB_SERVER4" 'while sleep 0.5; do date +%s.%N || exit; done'
	if ! lab_wait 30 test -s "$LAB_RUN/log/ssh"; then
		ui_bad "no SSH session"; tail -n 5 "$LAB_RUN/log/ssh" "$LAB_RUN/log/sshd" >&2
		return 1
	fi
}

story_capture() { # on both sides, of the BitTorrent ports only
	local side
	for side in client server; do
		lab_spawn "tcpdump-$side" $side tcpdump -Z root -i "${side:0:1}0" -s 96 -U --immediate-mode \
			-B 16384 -w "$LAB_RUN/$side.pcap" "portrange 51413-51420" || return 1
	done
	lab_wait 30 test -s "$LAB_RUN/client.pcap" -a -s "$LAB_RUN/server.pcap"
}
story_capture_stop() { lab_stop tcpdump-client 5 INT; lab_stop tcpdump-server 5 INT; }

story_more_than() { [[ $1 =~ ^[0-9]+$ ]] && [ "$1" -gt "$2" ]; }
story_had_more() { local had; had=$(story_rpc client "$1" bytes) && story_more_than "${had% *}" "$2"; }

# Chapter 1: a policy that passes everything.
story_allowed() {
	local t0 t1 took
	t0=$(ui_now)
	story_transmission client1 client 51421 9091 && story_rpc client 9091 add "$LAB_RUN/first.torrent" "$LAB_RUN/client1"
	ui_progress "transmission fetches $STORY_FIRST_MB MB through the gateway"
	lab_wait 60 story_rpc client 9091 done
	t1=$(ui_now)
	took=$(ui_span "$t0" "$t1")
	story_row "allowed: torrent of $STORY_FIRST_MB MB" "complete, same SHA-256" \
		"$(story_same "$LAB_RUN/seeder1/first.bin" "$LAB_RUN/client1/first.bin" && echo "same SHA-256, $took s" || echo "not the same after $took s")" \
		story_same "$LAB_RUN/seeder1/first.bin" "$LAB_RUN/client1/first.bin"
	lab_exec client $STORY_PY "$STORY_LIB/peers/bt_peer.py" utp "$LAB_SERVER4:51420" 1.5 >"$LAB_RUN/log/utp-allowed"
	local replies
	replies=$(story_seen_field utp-allowed replies)
	story_row "allowed: uTP exchange" "answered" "$replies answers" story_more_than "$replies" 3
	lab_exec client $STORY_PY "$STORY_LIB/peers/bt_peer.py" again "$LAB_SERVER4:51420" 1 >"$LAB_RUN/log/again-allowed"
	replies=$(story_seen_field again-allowed answered)
	story_row "allowed: scripted peer" "answered" "$replies answers" story_more_than "$replies" 3
}

# Chapter 2: the policy changes while transfers run.
story_blocked() {
	local t_reload end before after before_utp after_utp wire wire_new again hits
	story_rpc server 9091 limit "$STORY_RATE_KB"
	story_rpc client 9091 add "$LAB_RUN/second.torrent" "$LAB_RUN/client1"
	story_capture || ui_warn "tcpdump did not start"
	# Over uTP only: the client's own kernel refuses TCP (6: a minimal Debian has no /etc/protocols) to that seeder.
	ip -n "$LAB_PREFIX-c" rule add ipproto 6 dport 51415 prohibit &&
		story_transmission client3 client 51423 9093 utp-enabled=true &&
		story_rpc client 9093 add "$LAB_RUN/utp.torrent" "$LAB_RUN/client3"
	lab_spawn curl client curl -fsS --limit-rate 4M -o "$LAB_RUN/fetched.bin" "http://$LAB_SERVER4/web.bin"
	# longer than the waits below can take: it has to be at it when the policy changes
	lab_spawn utp client $STORY_PY "$STORY_LIB/peers/bt_peer.py" utp "$LAB_SERVER4:51420" 120
	ui_progress "a second torrent is running"
	lab_wait 30 story_had_more 9091 $(((STORY_FIRST_MB + 3) << 20))
	before=$(story_rpc client 9091 bytes)
	story_row "second torrent before the reload" "running" "$(((${before% *} >> 20) - STORY_FIRST_MB)) of $STORY_SECOND_MB MB" \
		story_more_than "${before% *}" $(((STORY_FIRST_MB + 3) << 20))
	lab_wait 30 story_had_more 9093 1000000
	before_utp=$(story_rpc client 9093 bytes)
	story_row "torrent over uTP before the reload" "running" "$((${before_utp% *} >> 20)) of $STORY_UTP_MB MB" \
		story_more_than "${before_utp% *}" 1000000
	if lab_policy "$LAB_ROOT/config/policy.json" >"$LAB_RUN/log/reload" 2>&1; then
		story_row "policy reload" "taken" "generation in force" true
	else
		story_row "policy reload" "taken" "$(tail -n 1 "$LAB_RUN/log/reload" | cut -c1-60)" false
	fi
	t_reload=$(ui_now)
	# A new client process: transmission backs off for minutes from a peer that reset it.
	story_transmission client2 client 51422 9092 && story_rpc client 9092 add "$LAB_RUN/third.torrent" "$LAB_RUN/client2"
	lab_spawn again client $STORY_PY "$STORY_LIB/peers/bt_peer.py" again "$LAB_SERVER4:51420" $((STORY_QUIET_S - 6))
	for _ in 1 2 3 4 5 6; do # what was in socket buffers reaches the client's disk
		before=$(story_rpc client 9091 bytes) before_utp=$(story_rpc client 9093 bytes)
		sleep 1
		[ "$before $before_utp" != "$(story_rpc client 9091 bytes) $(story_rpc client 9093 bytes)" ] || break
	done
	for ((end = SECONDS + STORY_QUIET_S; SECONDS < end; )); do
		ui_progress "BitTorrent is blocked; watching for new bytes, $((end - SECONDS)) s to go"
		sleep 1
	done
	after=$(story_rpc client 9091 bytes)
	after_utp=$(story_rpc client 9093 bytes)
	end=$(ui_now)
	lab_wait 30 story_over again
	lab_stop utp
	story_capture_stop
	wire=$($STORY_PY "$STORY_LIB/packet/story_pcap.py" payload "$LAB_RUN/client.pcap" tcp "$LAB_SERVER4" 51413 \
		"$(story_plus "$t_reload" 0.5)" "$end")
	story_row "blocked: running torrent, $STORY_QUIET_S s" "0 bytes" \
		"$((${after#* } - ${before#* })) bytes, $wire on the wire" test "$before" = "$after" -a "$wire" = 0
	wire=$($STORY_PY "$STORY_LIB/packet/story_pcap.py" payload "$LAB_RUN/client.pcap" udp "$LAB_SERVER4" 51415 \
		"$(story_plus "$t_reload" 0.5)" "$end")
	story_row "blocked: running torrent over uTP, $STORY_QUIET_S s" "0 bytes" \
		"$((${after_utp#* } - ${before_utp#* })) bytes, $wire on the wire" test "$before_utp" = "$after_utp" -a "$wire" = 0
	after=$(story_rpc client 9092 bytes)
	wire_new=$($STORY_PY "$STORY_LIB/packet/story_pcap.py" payload "$LAB_RUN/client.pcap" tcp "$LAB_SERVER4" 51414 0 "$end")
	story_row "blocked: new torrent, $STORY_QUIET_S s" "0 bytes" "${after#* } bytes, $wire_new on the wire" \
		test "$after" = "0 0" -a "$wire_new" = 0
	story_blocked_resets
	story_blocked_utp "$t_reload" "$end"
	again=$(story_seen_field again tries)
	hits=$(lab_stat counters cache_hits)
	story_row "blocked: peer that reconnects for ever" "dies in the connection cache" \
		"$again tries, $(story_seen_field again answered) answers, $hits hits" \
		story_dies_in_cache "$(story_seen_field again answered)" "$hits"
	lab_wait 30 story_has_event conncache
	story_row "conncache event in eve.json" "written" "$(story_events conncache) events" story_has_event conncache
}
story_dies_in_cache() { [ "$1" = 0 ] && story_more_than "$2" 0; }
story_over() { ! lab_alive "$1"; }
story_plus() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.6f", a + b }'; }
story_has_event() { story_more_than "$(story_events "$1")" 0; }

story_blocked_resets() {
	local seen at_client at_server
	seen=$($STORY_PY "$STORY_LIB/packet/story_pcap.py" resets "$LAB_RUN/client.pcap" "$LAB_RUN/server.pcap" \
		"$LAB_CLIENT4" 51413 51414)
	read -r _ at_client _ at_server <<<"$seen"
	story_row "blocked: RST of the gateway, seen by tcpdump" "in both namespaces" \
		"client ${at_client:-?}, server ${at_server:-?}" test "${at_client:-0}" -gt 0 -a "${at_server:-0}" -gt 0
}

story_blocked_utp() { # T_RELOAD END: what the client sent and what arrived, after the reload
	local from sent arrived drops
	from=$(story_plus "$1" 0.5)
	sent=$($STORY_PY "$STORY_LIB/packet/story_pcap.py" payload "$LAB_RUN/client.pcap" udp "$LAB_CLIENT4" 51420 "$from" "$2")
	arrived=$($STORY_PY "$STORY_LIB/packet/story_pcap.py" payload "$LAB_RUN/server.pcap" udp "$LAB_CLIENT4" 51420 "$from" "$2")
	drops=$(lab_stat dropped)
	story_row "blocked: scripted uTP leg" "sent, dropped, 0 arrive" "$sent bytes sent, $arrived arrived, $drops drops" \
		story_utp_died "$sent" "$arrived" "$drops"
}

story_utp_died() { story_more_than "$1" 0 && [ "$2" = 0 ] && story_more_than "$3" 0; }

# Chapter 3: files and messages. Without a scanner files are unscanned and pass, and the rows about it do not hold.
story_files() {
	local file=$LAB_RUN/files.json seen
	{ printf 'MZ'; for _ in {1..4000}; do printf 'quickstart-refused '; done; } >"$LAB_RUN/web/setup.exe"
	head -c 2000000 /dev/urandom >"$LAB_RUN/web/paper.pdf"
	cat >"$file" <<-EOF
	{"schema_version": 1, "rules": [{"id": "no-programs", "match": {},
	 "transfers": [{"name": ["*.exe"], "action": "reset"}],
	 "chat": [{"keyword": ["bluebird"], "action": "drop-message"}],
	 "scan": {"unscanned": {"no_engine": "audit"}, "error": "audit"},
	 "audit": {"transfers": true, "files": true, "chat": true}}]}
	EOF
	lab_policy "$file" >"$LAB_RUN/log/reload" 2>&1 || ui_warn "$(tail -n 1 "$LAB_RUN/log/reload")"
	lab_spawn dump-files client tcpdump -i any -s 0 -U --immediate-mode -w "$LAB_RUN/files.pcap" \
		"tcp src port 80 and src host $LAB_SERVER4"
	lab_wait 30 test -s "$LAB_RUN/files.pcap"
	[ -x "$STORY_SCANNER" ] && lab_wait 30 grep -q 'scanner: ready' "$LAB_RUN/log/gateway"
	for seen in setup.exe paper.pdf eicar.com twin.com; do
		lab_exec client curl -fsS --max-time 20 -o "$LAB_RUN/got-$seen" "http://$LAB_SERVER4/$seen" \
			2>"$LAB_RUN/log/curl-$seen"
	done
	lab_wait 30 grep -qs '"filename":"paper.pdf".*"sha256"' "$LAB_RUN/audit.log"
	lab_wait 30 grep -qs '"fileinfo".*"filename":"twin.com"' "$LAB_RUN/eve.json"
	lab_stop dump-files
	seen=$(grep -aoc quickstart-refused "$LAB_RUN/files.pcap")
	story_row "refused: setup.exe, over HTTP" "not a byte arrives" \
		"$(stat -c %s "$LAB_RUN/got-setup.exe" 2>/dev/null || echo 0) bytes at curl, $seen packets on the wire" \
		test ! -s "$LAB_RUN/got-setup.exe" -a "$seen" = 0
	story_row "its neighbour, paper.pdf" "same SHA-256" "$(stat -c %s "$LAB_RUN/got-paper.pdf" 2>/dev/null || echo 0) bytes" \
		story_same "$LAB_RUN/web/paper.pdf" "$LAB_RUN/got-paper.pdf"
	story_scanned
	story_messages
	story_row "audit log" "names them, verifies" "$(lab_ctl audit verify "$LAB_RUN/audit.log" 2>&1 | tail -n 1 | cut -c1-42)" \
		story_audited "$LAB_RUN/audit.log"
	lab_policy "$LAB_ROOT/config/policy.json" >"$LAB_RUN/log/reload" 2>&1
}
# What the scanner says of a file with the EICAR string, and of one that differs in a letter.
story_scanned() {
	local size got found
	size=$(stat -c %s "$LAB_RUN/web/eicar.com")
	got=$(stat -c %s "$LAB_RUN/got-eicar.com" 2>/dev/null || echo 0)
	found=$(story_verdict eicar.com)
	story_row "destroyed: EICAR test file, over HTTP" "found, never whole, reset" "$found, $got of $size bytes" \
		story_destroyed "$found" "$got" "$size"
	found=$(story_verdict twin.com)
	story_row "its twin, another in one letter" "clean, same SHA-256" \
		"$found, $(stat -c %s "$LAB_RUN/got-twin.com" 2>/dev/null || echo 0) bytes" \
		story_passed_clean "$found"
}
story_verdict() { # NAME: of a file, in its event
	$STORY_PY - "$LAB_RUN/eve.json" "$1" <<-'EOF'
		import json, sys
		said = "no event"
		for line in open(sys.argv[1]):
		    event = json.loads(line) if '"fileinfo"' in line and line.endswith("\n") else {}
		    if event.get("event_type") == "fileinfo" and event["fileinfo"].get("filename", "").endswith(sys.argv[2]):
		        av = event["fileinfo"].get("av", {})
		        said = av.get("signature") or av.get("reason") or av.get("verdict", "no verdict")
		print(said)
	EOF
}
story_destroyed() { # VERDICT BYTES SIZE: and the client's wire has the twin, thus would have the file
	# shellcheck disable=SC2016
	[ "$1" = Test.Eicar.UNOFFICIAL ] && [ "$2" -lt "$3" ] && grep -qi reset "$LAB_RUN/log/curl-eicar.com" &&
		grep -aqF 'ANTIVIRAL-TEST-FILE!$H+H*' "$LAB_RUN/files.pcap" &&
		! grep -aqF 'ANTIVIRUS-TEST-FILE!$H+H*' "$LAB_RUN/files.pcap"
}
story_passed_clean() { [ "$1" = clean ] && story_same "$LAB_RUN/web/twin.com" "$LAB_RUN/got-twin.com"; }
# A keyword in a message of IRC, said between two others on one connection.
story_messages() {
	local log=$LAB_RUN/log/irc
	lab_spawn irc server $STORY_PY "$STORY_LIB/peers/irc_line.py" listen "$LAB_SERVER4:6667"
	lab_wait 30 lab_exec server $STORY_PY -c "import socket; socket.create_connection(('$LAB_SERVER4', 6667), 1)"
	lab_exec client timeout 20 $STORY_PY "$STORY_LIB/peers/irc_line.py" say "$LAB_SERVER4:6667" \
		"good morning" "the Bluebird flies at eight" "lunch at noon" >"$LAB_RUN/log/irc-said" 2>&1
	lab_wait 30 grep -qs '"text":"lunch at noon"' "$LAB_RUN/audit.log"
	lab_stop irc
	story_row "refused: a keyword in IRC" "not a letter arrives" \
		"$(grep -ci bluebird "$log") of it came, connection $(tail -n 1 "$LAB_RUN/log/irc-said" | cut -c1-20)" \
		story_messages_held "$log"
	story_row "its neighbours in the same conversation" "arrive as they were said" \
		"$(grep -cE 'PRIVMSG #lab :(good morning|lunch at noon)$' "$log") of 2" \
		test "$(grep -E 'PRIVMSG #lab :(good morning|lunch at noon)$' "$log" | cut -d: -f2 | tr '\n' ,)" = "good morning,lunch at noon,"
}
story_messages_held() { ! grep -qi bluebird "$1" && grep -qx alive "$LAB_RUN/log/irc-said"; }
story_audited() {
	grep -q '"filename":"setup.exe".*"action":"reset"' "$1" &&
		grep -q '"text":"the Bluebird flies at eight".*"action":"drop-message"' "$1" &&
		grep -q "\"sha256\":\"$(sha256sum "$LAB_RUN/web/paper.pdf" | cut -d' ' -f1)\"" "$1" &&
		lab_ctl audit verify "$1" >/dev/null 2>&1
}

# Chapter 4: nobody else noticed.
story_untouched() {
	local ticks gap answered lost unaccounted
	ui_progress "waiting for curl to finish its $STORY_WEB_MB MB"
	lab_wait 60 story_over curl
	story_row "curl takes $STORY_WEB_MB MB across the reload" "same SHA-256" \
		"$(story_same "$LAB_RUN/web/web.bin" "$LAB_RUN/fetched.bin" && echo same SHA-256 || tail -n 1 "$LAB_RUN/log/curl")" \
		story_same "$LAB_RUN/web/web.bin" "$LAB_RUN/fetched.bin"
	read -r ticks gap <<<"$(awk 'NR > 1 && $1 - last > gap { gap = $1 - last } { last = $1 }
		END { printf "%d %.1f", NR, gap }' "$LAB_RUN/log/ssh")"
	story_row "SSH session across the reload" "up, no gap" "$ticks lines, longest gap $gap s" \
		story_ssh_held "$ticks" "$gap"
	lab_stop ping 3 INT
	read -r answered lost <<<"$(lab_pings ping)"
	story_row "ping all the while" "none lost" "$answered answered, $lost lost" test "$answered" -gt 100 -a "$lost" = 0
	lab_stop ssh 3
	lab_wait 30 lab_balanced
	unaccounted=$(lab_stat unaccounted)
	story_row "packets unaccounted for" "0" "$unaccounted" test "$unaccounted" = 0
}
story_ssh_held() { lab_alive ssh && [ "$1" -gt 40 ] && awk -v g="$2" 'BEGIN { exit !(g < 2) }'; }

# Chapter 5: the gateway goes as it should.
story_stop() {
	local t0 t1
	t0=$(ui_now)
	lab_stop gateway 5
	t1=$(ui_now)
	story_row "gateway stops on SIGTERM" "ends 0 within 2 s" "ended ${LAB_GATEWAY_EXIT:-?} after $(ui_span "$t0" "$t1") s" \
		story_stopped "${LAB_GATEWAY_EXIT:-?}" "$(ui_span "$t0" "$t1")"
}
story_stopped() { [ "$1" = 0 ] && awk -v s="$2" 'BEGIN { exit !(s <= 2.2) }'; }

story_run() {
	local t0 t1 scan
	ui_title "Services"
	story_services || return 1
	t0=$(ui_now)
	scan="{\"engine\":\"clamav\",\"program\":\"$STORY_SCANNER\",\"database\":\"$LAB_RUN/scan/db\",\"tmp\":\"$LAB_RUN/scan/tmp\",\"user\":\"nobody\"}"
	LAB_OPTIONS="${LAB_OPTIONS:-} --set paths.audit=$LAB_RUN/audit.log --set scan=$scan" \
		lab_gateway_start "$LAB_ROOT/config/policy-pass.json" || return 1
	t1=$(ui_now)
	ui_ok "gateway: up after $(ui_span "$t0" "$t1") s under config/policy-pass.json"
	ui_title "Story"
	story_innocents || return 1
	story_allowed
	story_blocked
	story_files
	story_untouched
}
