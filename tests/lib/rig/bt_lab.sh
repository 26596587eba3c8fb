# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# BitTorrent clients in the lab, for tests/netns/bittorrent_*.test: sourced after netns.sh.
#
# A pair is a client of one kind behind the gateway that loads torrents from a seed of another kind
# on the other side. It is named BT_PREFIX LEECH-SEED-SIDE-WORDS; its seed listens on a port of its own.

BT_PAIRS=()   # names
BT_PORT=20000 # the next pair's seed; its client listens one above
declare -A BT_SEED_PORT BT_SEED_AT BT_LEECH BT_WORDS BT_COUNT BT_SIDE BT_OPEN

bt() { "$NETNS_PY" -B "$NETNS_LIB/peers/bt_clients.py" "$@"; }

bt_policy() { # MODE CONFIDENCE [ACTION]
	printf '{"schema_version": 1, "mode": "%s", "default": "pass", "rules": [{"id": "no-bittorrent",
	"match": {"app": ["bittorrent"], "min_confidence": "%s"}, "action": "%s"}]}\n' "$1" "$2" "${3:-drop}"
}

bt_capture() {
	lab_spawn tcpdump client tcpdump -i c0 -n -U -s 0 --immediate-mode -B 65536 -w "$LAB_RUN/wire.pcap" 'tcp or udp'
	lab_wait 30 test -s "$LAB_RUN/wire.pcap"
}

# bt_pair LEECH SEED COUNT SIDE WORD...: COUNT torrents, and the seed. The tracker of the client,
# which knows the seed alone, sits behind the gateway (SIDE server), or beside the client (client),
# where nobody hears it; none: there is none. SIDE inward: the seed is inside and the client with
# its tracker outside; the gateway hears what the seed tells the tracker. SIDE dht: as none, but
# for nodes of the DHT behind the gateway. SIDE http, udp: opentracker behind the
# gateway, asked by both, over HTTP or UDP.
bt_pair() {
	local leech=$1 seed=$2 count=$3 side=$4 name port=$BT_PORT at=127.0.0.2 public= seed_side=server
	local for_seed for_leech
	shift 4
	name="${BT_PREFIX:-}$leech-$seed-$side${*:+-$*}"
	name=${name//[ =:.]/-}
	BT_PORT=$((BT_PORT + 40))
	BT_PAIRS+=("$name")
	BT_SEED_PORT[$name]=$port BT_LEECH[$name]=$leech BT_COUNT[$name]=$count BT_SIDE[$name]=client
	BT_SEED_AT[$name]=$LAB_SERVER4
	case $side in
	server) at=$LAB_SERVER4 ;;
	client) at=$LAB_CLIENT4 ;;
	inward) at=$LAB_SERVER4 seed_side=client BT_SIDE[$name]=server BT_SEED_AT[$name]=$LAB_CLIENT4 ;;
	dht) public="public node=$LAB_SERVER4:$((port + 10))" && set -- "$@" dht ;;
	none) public=public ;;
	esac
	BT_WORDS[$name]=$*
	for_seed=http://$LAB_SERVER4:$((port + 2))/announce for_leech=http://$at:$((port + 2))/announce
	case $side in http | udp)
		for_leech=$side://$LAB_SERVER4:$((port + 2))/announce for_seed=$for_leech
		BT_OPEN[$name]=http://$LAB_SERVER4:$((port + 2))
		;;
	esac
	# shellcheck disable=SC2086 # words
	bt content "$LAB_RUN/$name" "$count" "${BT_BYTES:-65536}" "$for_seed" "$for_leech" $public \
		>"$LAB_RUN/$name.hashes" || return 1
	sed "s/\$/=${BT_SEED_AT[$name]}:$port/" "$LAB_RUN/$name.hashes" >"$LAB_RUN/$name.peers"
	if [ -n "${BT_OPEN[$name]:-}" ]; then
		bt_opentracker "$name" $((port + 2))
	else
		bt_tracker "$name" server "$LAB_SERVER4"
	fi
	[ "$side" = client ] && bt_tracker "$name" client "$LAB_CLIENT4"
	# shellcheck disable=SC2046 # words
	[ "$side" = dht ] && lab_spawn "$name-dht" server "$NETNS_PY" -B "$NETNS_LIB/peers/dht_nodes.py" \
		"$LAB_SERVER4:$((port + 10))" 16 $(cat "$LAB_RUN/$name.peers")
	lab_spawn "$name-seed" "$seed_side" "$NETNS_PY" -B "$NETNS_LIB/peers/bt_clients.py" start "$seed" \
		"$LAB_RUN/$name/seed" "${BT_SEED_AT[$name]}" "$port" "$LAB_RUN/$name/for_seed" \
		"$LAB_RUN/$name/seeded" $(printf '%s\n' "$@" | grep -v -e dht -e magnet)
}
# Debian's opentracker answers only for torrents on its list, and lives in a folder of its own.
bt_opentracker() { # NAME PORT
	mkdir "$LAB_RUN/$1/tracker" && cp "$LAB_RUN/$1.hashes" "$LAB_RUN/$1/tracker/allowed"
	lab_spawn "$1-tracker-server" server opentracker -i "$LAB_SERVER4" -p "$2" -P "$2" \
		-d "$LAB_RUN/$1/tracker" -w /allowed
}
bt_tracker() { # NAME SIDE ADDRESS
	# shellcheck disable=SC2046 # words
	lab_spawn "$1-tracker-$2" "$2" "$NETNS_PY" -B "$NETNS_LIB/peers/tracker.py" "$3:$((BT_SEED_PORT[$1] + 2))" \
		$(cat "$LAB_RUN/$1.peers")
}

# The seed has told its tracker of each torrent that it has it.
bt_seeded() {
	if [ -n "${BT_OPEN[$1]:-}" ]; then
		lab_exec server "$NETNS_PY" -B "$NETNS_LIB/peers/bt_clients.py" seeded "${BT_OPEN[$1]}" "$LAB_RUN/$1.hashes"
		return
	fi
	[ "$(grep -o 'info_hash=[^& ]*.*left=0&' "$LAB_RUN/log/$1-tracker-server" | cut -d '&' -f 1 | sort -u | wc -l)" \
		-ge "${BT_COUNT[$1]}" ]
}
bt_wait() { # SECONDS COMMAND...: until it succeeds; by the clock, as such a command may take a second itself
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.5
	done
}
bt_all() { # PREDICATE, of every pair
	local name
	for name in "${BT_PAIRS[@]}"; do "$1" "$name" || return 1; done
}
bt_leech() { # of every pair
	local name address
	for name in "${BT_PAIRS[@]}"; do
		address=$LAB_CLIENT4
		[ "${BT_SIDE[$name]}" = server ] && address=$LAB_SERVER4
		# shellcheck disable=SC2086 # words
		lab_spawn "$name-leech" "${BT_SIDE[$name]}" "$NETNS_PY" -B "$NETNS_LIB/peers/bt_clients.py" start \
			"${BT_LEECH[$name]}" "$LAB_RUN/$name/leech" "$address" $((BT_SEED_PORT[$name] + 1)) \
			"$LAB_RUN/$name/torrents" "$LAB_RUN/$name/loaded" ${BT_WORDS[$name]}
	done
}
bt_done() { bt same "$LAB_RUN/$1/seeded" "$LAB_RUN/$1/loaded"; }

# Ends all pairs.
bt_stop() {
	local path paths=("$LAB_RUN"/pids/*-leech "$LAB_RUN"/pids/*-seed "$LAB_RUN"/pids/*-tracker-* "$LAB_RUN"/pids/*-dht)
	for path in "${paths[@]}"; do
		[ -e "$path" ] && kill -TERM "$(lab_pid "${path##*/}")" 2>/dev/null
	done
	for path in "${paths[@]}"; do
		[ -e "$path" ] && lab_stop "${path##*/}" 3
	done
	BT_PAIRS=()
}
# Nothing of a pair's content has come.
bt_nothing() { [ "$(bt_done "$1")" = "0 of ${BT_COUNT[$1]}" ]; }

# What is left is told when the gateway ends.
bt_events() {
	lab_stop tcpdump
	netns_check "the gateway ends" netns_gateway_ends 20
}

# bt_flows PAIR L4 CONFIDENCE SHARE LEAST [LEARNED]: of the flows to the pair's seed (by local
# discovery: to either end) that carried a payload both ways, at least LEAST, so many are bittorrent with that confidence.
bt_flows() {
	local ports=${BT_SEED_PORT[$1]}
	case $1 in *-open) ports=$ports,$((ports + 1)) ;; esac
	"$NETNS_PY" -B "$NETNS_LIB/packet/bt_flows.py" "$LAB_RUN/eve.json" "$LAB_RUN/wire.pcap" "$ports" "${@:2}"
}
