// SPDX-License-Identifier: BSD-3-Clause
// BitTorrent: peer wire (BEP 3), HTTP and UDP trackers (BEP 3, 15, 48), DHT (BEP 5, 42, 44), local
// service discovery (BEP 14), uTP (BEP 29), and the shape of encrypted connections (mse.h).
#include <netinet/in.h>
#include "classify/app_proto.h"
#include "pipeline/vocab/bencode.h"
#include "classify/proto/bittorrent/ids.h"
#include "classify/proto/bittorrent/peers.h"
#include "classify/proto/bittorrent/mse.h"
#include "classify/text.h"

// ---- HTTP tracker: GET ...?info_hash=... ----

// Length of a percent-encoded query value once decoded; it ends at '&', ' ' or the end of the line.
static uint32_t decoded_length(const uint8_t *at, uint32_t length)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < length && at[i] != '&' && at[i] != ' '; n++) {
		bool escaped = at[i] == '%' && length - i >= 3 && octets_hex(at[i + 1]) >= 0 &&
			       octets_hex(at[i + 2]) >= 0;

		i += escaped ? 3 : 1;
	}
	return n;
}

// The value of a parameter of the query, its decoded length; 0: not there.
static uint32_t parameter_length(const uint8_t *line, uint32_t length, const char *name)
{
	const uint8_t *query = memchr(line, '?', length);
	const uint8_t *end = line + length;
	size_t n = strlen(name);

	while (query && query < end) {
		query++; // past '?' or '&'
		uint32_t left = (uint32_t)(end - query);

		if (left > n && !memcmp(query, name, n) && query[n] == '=')
			return decoded_length(query + n + 1, left - (uint32_t)n - 1);
		query = memchr(query, '&', left);
	}
	return 0;
}

// An announce names the torrent and the peer, a scrape the torrent, a seed over HTTP (BEP 17) the
// piece. The words alone also stand in web pages' addresses: the hash has to be one.
static enum verify verify_tracker(const struct probe *probe)
{
	const uint8_t *end = probe->length ? memchr(probe->bytes, '\n', probe->length) : NULL;
	uint32_t length = end ? (uint32_t)(end - probe->bytes) : probe->length;

	if (!end)
		return length < 1800 ? VERIFY_MORE : VERIFY_NO;
	uint32_t hash = parameter_length(probe->bytes, length, "info_hash");

	if (hash != 20 && hash != 32)
		return VERIFY_NO;
	if (parameter_length(probe->bytes, length, "peer_id") == 20 ||
		parameter_length(probe->bytes, length, "piece") ||
		octets_have(probe->bytes, length, "scrape"))
		return VERIFY_YES;
	return VERIFY_NO;
}

// ---- DHT ----

#define NODE_ID 20

// What a dictionary of the DHT says of itself. Receivers skip keys that they do not know, in any
// order and of any depth, and read no more than the first octet of `y` (libtorrent).
struct dht_parts {
	bool query, arguments, reply, error, transaction;
	bool asker; // the arguments hold the node's id
	uint8_t type;
};

static bool has_node_id(struct bencode dictionary)
{
	struct bencode value;
	const uint8_t *id;
	uint32_t length;

	return bencode_find(dictionary, "id", &value) && bencode_string(&value, &id, &length) &&
	       length == NODE_ID;
}

static void dht_take_part(struct dht_parts *parts, uint8_t key, struct bencode value)
{
	uint8_t first = *value.at;
	const uint8_t *text = NULL;
	uint32_t length = 0;

	if (octets_digit(first))
		bencode_string(&value, &text, &length);
	switch (key) {
	case 'a':
		parts->arguments |= first == 'd';
		parts->asker |= first == 'd' && has_node_id(value);
		break;
	case 'r': parts->reply |= first == 'd'; break;
	case 'e': parts->error |= first == 'l'; break;
	case 't': parts->transaction |= text != NULL; break;
	case 'q': parts->query |= length >= 3; break;
	case 'y':
		if (length)
			parts->type = text[0];
		break;
	default: break;
	}
}

// False: it is no whole dictionary.
static bool dht_read(const struct probe *probe, struct dht_parts *parts)
{
	struct bencode in = {probe->bytes + 1, probe->bytes + probe->length};

	while (in.at < in.end && *in.at != 'e') {
		const uint8_t *key;
		uint32_t length;

		if (!bencode_string(&in, &key, &length) || in.at == in.end)
			return false;
		if (length == 1)
			dht_take_part(parts, *key, in);
		if (!bencode_skip(&in))
			return false;
	}
	return in.at < in.end;
}

static bool dht_has(const struct probe *probe, const char *words)
{
	return octets_have(probe->bytes, probe->length, words);
}

// How Transmission and others that use Chroboczek's library read: whatever begins with 'd' and has
// the words anywhere, so that the rest need not be bencoded.
static bool dht_by_words(const struct probe *probe)
{
	static const char id[] = "2:id20:";
	const uint8_t *at = memmem(probe->bytes, probe->length, id, sizeof(id) - 1);

	if (!at || (uint32_t)(probe->bytes + probe->length - at) < sizeof(id) - 1 + NODE_ID)
		return false;
	if (dht_has(probe, "1:y1:r"))
		return true;
	return dht_has(probe, "1:y1:q") &&
	       (dht_has(probe, "1:q4:ping") || dht_has(probe, "1:q9:find_node") ||
		       dht_has(probe, "1:q9:get_peers") || dht_has(probe, "1:q13:announce_peer"));
}

// A message of the DHT is one dictionary with a transaction `t`, a type `y`, and the part that the
// type asks for: arguments `a` of a query, `r` of a reply, the list `e` of an error. A query that
// has no transaction is answered as well.
static enum verify verify_dht(const struct probe *probe)
{
	struct dht_parts parts = {0};
	bool whole = false;

	if (!probe->length || probe->bytes[0] != 'd')
		return VERIFY_NO;
	if (dht_read(probe, &parts))
		whole = (parts.type == 'q' && parts.arguments && parts.query &&
				(parts.transaction || parts.asker)) ||
			(parts.type == 'r' && parts.reply && parts.transaction) ||
			(parts.type == 'e' && parts.error && parts.transaction);
	return whole || dht_by_words(probe) ? VERIFY_YES : VERIFY_NO;
}

// ---- UDP tracker, where its connect was not seen (BEP 15: a connection id lives two minutes) ----

enum {
	ANNOUNCE = 98,
	ANNOUNCE_ANSWER = 20,
	PEER4 = 6,
	PEER6 = 18,
	WANTED_MAX = 10000,
	INTERVAL_MIN_S = 30,
	HASH_OCTETS_MIN = 12, // different ones of the 20 of a hash
};

static bool is_hash(const uint8_t *at)
{
	uint64_t seen[4] = {0};
	unsigned n = 0;

	for (unsigned i = 0; i < 20; i++)
		seen[at[i] >> 6] |= 1ULL << (at[i] & 63);
	for (unsigned i = 0; i < 4; i++)
		n += (unsigned)__builtin_popcountll(seen[i]);
	return n >= HASH_OCTETS_MIN;
}

// Connection id, action 1, transaction, info hash, peer id, three counts of bytes (no torrent has
// 2^48; who knows only that something is left says -1), event 0 to 3, address, key, wanted -1 or
// some, a port. Clients choose their peer ids as they like (BEP 20).
static enum verify verify_udp_announce(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;

	if (probe->length < ANNOUNCE || octets_be32(at + 80) > 3 || !octets_be16(at + 96))
		return VERIFY_NO;
	if (octets_be32(at + 92) != UINT32_MAX && octets_be32(at + 92) > WANTED_MAX)
		return VERIFY_NO;
	if (octets_be16(at + 56) || octets_be16(at + 72) ||
		(octets_be16(at + 64) && octets_be16(at + 64) != UINT16_MAX &&
			octets_be16(at + 64) != INT16_MAX))
		return VERIFY_NO;
	return is_hash(at + 16) ? VERIFY_YES : VERIFY_NO;
}

// Action 1, transaction, interval, leechers, seeders, the peers. Alone it is numbers that are
// small, and one that is not: a hint.
static enum verify verify_udp_answer(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;
	uint32_t peers = probe->length - ANNOUNCE_ANSWER;
	uint32_t size = peers % PEER4 ? PEER6 : PEER4;

	if (octets_be32(at + 8) < INTERVAL_MIN_S || !octets_be16(at + 4) || !octets_be16(at + 6))
		return VERIFY_NO;
	if (peers % size)
		return VERIFY_NO;
	// who is listed is one of those who are counted
	if (octets_be32(at + 12) + octets_be32(at + 16) < peers / size)
		return VERIFY_NO;
	for (uint32_t i = ANNOUNCE_ANSWER; i < probe->length; i += size)
		if (!octets_be16(at + i + size - 2) || !octets_be32(at + i))
			return VERIFY_NO;
	return VERIFY_PARTIAL;
}

static enum verify verify_lsd(const struct probe *probe)
{
	return octets_have(probe->bytes, probe->length, "\r\nInfohash: ") &&
			       octets_have(probe->bytes, probe->length, "\r\nPort: ")
		       ? VERIFY_YES
		       : VERIFY_NO;
}

static enum verify verify(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;
	uint32_t length = probe->length;

	if (probe->l4_proto == IPPROTO_TCP) {
		if (octets_begin(at, length,
			    "\x13"
			    "BitTorrent"))
			return length >= 48 ? VERIFY_YES : VERIFY_DPI; // the info hash is there
		return verify_tracker(probe);
	}
	if (octets_begin(at, length, "BT-SEARCH"))
		return verify_lsd(probe);
	if (length && at[0] == 'd')
		return verify_dht(probe);
	if (length > ANNOUNCE_ANSWER && octets_be32(at) == 1 &&
		verify_udp_answer(probe) == VERIFY_PARTIAL)
		return VERIFY_PARTIAL;
	return verify_udp_announce(probe);
}

// ---- uTP ----

enum {
	UTP_DATA = 0,
	UTP_FIN = 1,
	UTP_STATE = 2,
	UTP_RESET = 3,
	UTP_SYN = 4,
	UTP_NONE = 15,
	UTP_HEADER = 20,
};

struct utp {
	unsigned type;
	uint16_t conn, seq, ack;
	uint32_t stamp, delay;
	uint32_t payload; // bytes behind header and extensions
};

static bool utp_parse(const struct probe *probe, struct utp *utp)
{
	const uint8_t *at = probe->bytes;
	uint32_t offset = UTP_HEADER;

	if (probe->length < UTP_HEADER || (at[0] & 15) != 1 || at[0] >> 4 > UTP_SYN || at[1] > 3)
		return false;
	utp->type = at[0] >> 4;
	utp->conn = octets_be16(at + 2);
	utp->stamp = octets_be32(at + 4);
	utp->delay = octets_be32(at + 8);
	utp->seq = octets_be16(at + 16);
	utp->ack = octets_be16(at + 18);
	// extensions: type of the next, length, body
	for (uint8_t next = at[1]; next;) {
		if (probe->length - offset < 2 || next > 3)
			return false;
		uint32_t body = at[offset + 1];

		next = at[offset];
		offset += 2;
		if (!body || probe->length - offset < body)
			return false;
		offset += body;
	}
	utp->payload = probe->length - offset;
	if (utp->type == UTP_SYN && (utp->payload || utp->delay))
		return false;
	return utp->type == UTP_DATA ? utp->payload > 0 : utp->payload == 0;
}

// What a half has said last, in three words of the memo. `run` counts its packets in a row that
// continue each other.
struct utp_half {
	unsigned type, run;
	uint16_t conn, seq, ack;
	uint32_t stamp;
};

static struct utp_half half_get(const struct app_memo *memo, unsigned half)
{
	const uint32_t *word = &memo->word[3 * half];

	return (struct utp_half){
		.conn = (uint16_t)(word[0] >> 16),
		.seq = (uint16_t)word[0],
		.ack = (uint16_t)(word[1] >> 16),
		.run = word[1] >> 8 & 255,
		.type = word[1] & 15,
		.stamp = word[2],
	};
}

static void half_put(struct app_memo *memo, unsigned half, const struct utp *utp, unsigned run)
{
	uint32_t *word = &memo->word[3 * half];

	word[0] = (uint32_t)utp->conn << 16 | utp->seq;
	word[1] = (uint32_t)utp->ack << 16 | run << 8 | utp->type;
	word[2] = utp->stamp;
}

#define UTP_PAUSE_US 60000000
#define UTP_ACKED    1000 // packets
#define UTP_STRAYS   3    // packets that are missing between two, or came in another order

// Same connection, and time, sequence and acknowledgement go on as they do in uTP: a packet of
// content takes the next number, an acknowledgement repeats the last. Datagrams overtake each
// other, and get lost.
static bool utp_continues(const struct utp_half *before, const struct utp *now)
{
	int32_t later = (int32_t)(now->stamp - before->stamp);
	int16_t step = (int16_t)(uint16_t)(now->seq - before->seq);
	int16_t acked = (int16_t)(uint16_t)(now->ack - before->ack);

	if (before->conn != now->conn || !later || later > UTP_PAUSE_US || later < -UTP_PAUSE_US ||
		acked > UTP_ACKED || acked < -UTP_ACKED)
		return false;
	if (before->type == UTP_SYN)
		return !step && later > 0;
	if (later < 0)
		step = (int16_t)-step; // it was overtaken by the one before
	return step >= (now->type == UTP_DATA) && step <= UTP_STRAYS;
}

// A datagram may look like uTP by chance (a DNS query does, with the right id). A verdict needs
// the answer: STATE with the SYN's connection id, acknowledging its number. Where the SYN was not
// seen, the two halves' ids differ by one and each acknowledges the other; one half alone has to
// go on as uTP does for three packets, and is then PARTIAL.
static enum verify shape_udp(const struct probe *probe)
{
	unsigned half = probe->half & 1;
	struct utp now;

	if (!utp_parse(probe, &now)) {
		if (probe->memo->word[3 * half + 1])
			memset(&probe->memo->word[3 * half], 0, 12);
		return VERIFY_NO;
	}
	struct utp_half mine = half_get(probe->memo, half), other = half_get(probe->memo, !half);

	if (other.run && other.type == UTP_SYN && now.type == UTP_STATE)
		return now.conn == other.conn && now.ack == other.seq ? VERIFY_YES : VERIFY_NO;
	uint16_t apart = (uint16_t)(now.conn - other.conn);
	uint16_t behind = (uint16_t)(other.seq - now.ack);

	if (other.run && other.type != UTP_SYN && now.type != UTP_SYN &&
		(apart == 1 || apart == UINT16_MAX) && behind < 1000 &&
		(uint16_t)(now.seq - other.ack) < 1000)
		return VERIFY_DPI;
	unsigned run = mine.run && utp_continues(&mine, &now) ? mine.run + 1 : 1;

	half_put(probe->memo, half, &now, run);
	return run >= 3 ? VERIFY_PARTIAL : VERIFY_MORE;
}

// ---- peer wire, picked up in the middle ----

// Length of a message by its id (BEP 3, 6, 10), 0: as it comes; UINT32_MAX: no such message.
static uint32_t message_length(uint8_t id)
{
	switch (id) {
	case 0:  // choke
	case 1:  // unchoke
	case 2:  // interested
	case 3:  // not interested
	case 14: // have all
	case 15: // have none
		return 1;
	case 4:  // have
	case 13: // suggest
	case 17: // allowed fast
		return 5;
	case 6:  // request
	case 8:  // cancel
	case 16: // reject
		return 13;
	case 9: // port
		return 3;
	case 5:  // bitfield
	case 7:  // piece
	case 20: // extended
		return 0;
	default: return UINT32_MAX;
	}
}

enum {
	WEIGHT_ENOUGH = 6,
	WEIGHT_REQUEST = 3,
};

// Index of a piece (2^24 of the smallest are 256 GiB) and where in it a block begins.
static bool is_block(const uint8_t *at)
{
	return !at[0] && !(octets_be32(at + 4) & 16383);
}

// Of what is asked for: 16 KiB, less at the end; clients refuse more than 128 KiB.
static bool is_block_length(uint32_t length)
{
	return length && length <= 131072;
}

// How many messages follow each other from here, weighing those with more that is fixed: the head
// of a block is enough, requests come in pairs, others prove little.
static unsigned messages_from(const uint8_t *at, uint32_t left)
{
	unsigned weight = 0;

	while (left >= 5) {
		uint32_t length = octets_be32(at);
		uint32_t fixed = message_length(at[4]);

		// a keep-alive between two messages (BEP 3)
		if (!length && weight && left >= 9 && octets_be32(at + 4)) {
			at += 4;
			left -= 4;
			continue;
		}
		if (!length || fixed == UINT32_MAX || (fixed && fixed != length) || length > 131081)
			return 0;
		if (at[4] == 7) {
			// a block begins at a multiple of 16 KiB and is usually that long
			if (left < 13 || length != 16393 || !is_block(at + 5))
				return 0;
			weight += WEIGHT_ENOUGH;
		} else if (fixed == 13) {
			if (left < 17 || !is_block(at + 5) ||
				!is_block_length(octets_be32(at + 13)))
				return 0;
			weight += WEIGHT_REQUEST;
		} else {
			weight++;
		}
		if (length > left - 4)
			return at[4] == 7 ? weight : 0;
		at += 4 + length;
		left -= 4 + length;
	}
	return weight;
}

static enum verify shape_tcp(const struct probe *probe)
{
	if (!probe->midstream)
		return mse_shape(probe, &probe->memo->word[0]);
	for (uint32_t i = 0; i + 13 <= probe->length; i++) {
		const uint8_t *at = probe->bytes + i;

		if (!at[0] && at[1] <= 1 && messages_from(at, probe->length - i) >= WEIGHT_ENOUGH)
			return VERIFY_PARTIAL;
	}
	return VERIFY_MORE;
}

// What an endpoint that is known for BitTorrent would begin with when it encrypts, or speaks uTP.
static bool disguised(const struct span *span, uint8_t l4_proto)
{
	const struct text first = span_text(span);
	const struct probe probe = {.bytes = first.at, .length = first.length};
	struct utp utp;

	if (l4_proto == IPPROTO_TCP)
		return !span->offset64 && mse_begins(first.at, first.length);
	return utp_parse(&probe, &utp);
}

const struct app_proto app_proto_bittorrent = {
	.name = "bittorrent",
	.title = "BitTorrent",
	.group = "file-sharing",
	.category = APP_CATEGORY_P2P,
	.verify = verify,
	.shape_tcp = shape_tcp,
	.shape_by_lengths = true,
	.shape_udp = shape_udp,
	.disguised = disguised,
	.decodes_for_others = true,
	.decode = bittorrent_peers_stream,
	.decode_datagram = bittorrent_peers_datagram,
	.datagram_ids = bittorrent_datagram_ids,
	.tcp_ports = {6881, 6882, 6883, 6884, 6885, 6886, 6887, 51413},
	.udp_ports = {6881, 51413},
};
