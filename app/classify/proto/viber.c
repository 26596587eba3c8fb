// SPDX-License-Identifier: BSD-3-Clause
// Viber: the hosts of its service, and frames of its own, known from what clients send (no
// specification is public).
//
// UDP (calls): an id of 16 bits, a type (little endian), by type a token of 64 bits and a time in
// milliseconds since 1970, of 64 bits. 1 asks, with 5 at 4, the token at 6, the time at 34; 12
// answers with the token at 6, the time at 20. 9 (20 octets: time at 4, token) asks whether the way
// is there, 11 (34: that time, its own) says so. 25 and 27 (34 octets) ask with the token at 4, 26
// (20) answers with it at 4. A time fixes 25 bits: one datagram with it fixes 41 and its length.
// Of 25 to 28 alone, and of 3 (12 octets: an id and a token), the ports that Viber names are part
// of the proof (support.viber.com, "Viber connection issues": 5242, 4244, 5243, 7985, 9785), for a
// hint; else the answer: same id, right type, same token: 128 bits.
//
// TCP (messages; 4244, 5242, 443, 80): the length of the frame (little endian, these two octets
// included), a token of 32 bits, 0xfcff, a small version, 0x80: 36 bits with the length. The
// server's frame: length, two octets, version and 0x80, the token: 44 bits; heard alone, with the
// port: 40. What follows is sealed behind a length, a number that rises by one in each half, and
// two octets of zero; some connections put each frame into a record that looks like TLS's data. Two
// such frames in a row fix 48 bits, where the beginning was not seen: proof on a port that Viber
// names, else a hint.
#include <netinet/in.h>
#include "classify/app_proto.h"
#include "classify/text.h"

#define UDP_MIN     12
#define UDP_TIME    8
#define VERSION_MAX 0x0f
#define TCP_HEAD    12
#define TCP_MIN     22
#define TCP_MAX     2048
#define REMEMBERED  0x80000000
#define FRAME_HEAD  6
#define FRAME_MIN   8
#define FRAME_MAX   0x2000
#define RECORD_HEAD 5 // of what looks like TLS

struct ask {
	uint16_t type, answer;
	uint8_t token; // offset, in both
};

static const struct ask asks[] = {{1, 12, 6}, {25, 26, 4}, {27, 28, 4}};

// Kinds that tell the time, at `time`; length 0: of any length.
static const struct timed {
	uint16_t type, length;
	uint8_t time;
} timed[] = {{1, 0, 34}, {9, 20, 4}, {11, 34, 4}, {12, 0, 20}};

// Milliseconds: 2004 to 2039.
static bool is_time(const uint8_t *at)
{
	return at[5] == 1 && !at[6] && !at[7];
}

static bool tells_time(const struct probe *probe, uint32_t type)
{
	for (unsigned i = 0; i < sizeof(timed) / sizeof(timed[0]); i++) {
		const struct timed *kind = &timed[i];

		if (kind->type == type && (!kind->length || kind->length == probe->length) &&
			probe->length >= (uint32_t)kind->time + UDP_TIME)
			return is_time(probe->bytes + kind->time);
	}
	return false;
}

static bool is_udp_port(uint16_t port)
{
	return port == 5242 || port == 5243 || port == 4244 || port == 7985 || port == 7987 ||
	       port == 9785;
}

static bool is_hint(const struct probe *probe, uint32_t type)
{
	bool length = type == 3 ? probe->length == 12
		      : type == 26 || type == 28
			      ? probe->length == 20
			      : (type == 25 || type == 27) && probe->length == 34;

	return length && (is_udp_port(probe->dport) || is_udp_port(probe->sport));
}

static enum verify verify_udp(const struct probe *probe)
{
	uint32_t *memo = probe->memo->word; // id and the index of the ask; the token
	const uint8_t *at = probe->bytes;

	if (probe->length < UDP_MIN)
		return memo[0] ? VERIFY_MORE : VERIFY_NO;
	uint32_t id = octets_be16(at), type = octets_le16(at + 2);

	if (tells_time(probe, type) && (type != 1 || octets_le16(at + 4) == 5))
		return VERIFY_DPI;
	if (probe->length < 20)
		return is_hint(probe, type) ? VERIFY_PARTIAL : memo[0] ? VERIFY_MORE : VERIFY_NO;

	for (unsigned i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		const uint8_t *token = at + asks[i].token;
		uint32_t key = REMEMBERED | i << 20 | (uint32_t)(probe->half & 1) << 16;

		if (type == asks[i].type) {
			memo[0] = key | id;
			memo[1] = octets_be32(token);
			memo[2] = octets_be32(token + 4);
			return is_hint(probe, type) ? VERIFY_PARTIAL : VERIFY_MORE;
		}
		if (type == asks[i].answer && memo[0] == ((key ^ 0x10000) | id) &&
			memo[1] == octets_be32(token) && memo[2] == octets_be32(token + 4))
			return VERIFY_YES;
	}
	if (!memo[0] && is_hint(probe, type)) // the answer to what was not seen
		return VERIFY_PARTIAL;
	return memo[0] ? VERIFY_MORE : VERIFY_NO;
}

static bool is_tcp_port(uint16_t port)
{
	return port == 4244 || port == 5242;
}

static bool is_version(const uint8_t *at)
{
	return at[0] && at[0] <= VERSION_MAX && at[1] == 0x80;
}

// A sealed frame's number, or -1; its length, with the head of a record that is put around it.
static int frame_at(struct text rest, uint32_t *length)
{
	uint32_t record = 0;

	if (rest.length >= RECORD_HEAD && rest.at[0] == 0x17 && rest.at[1] == 3 &&
		rest.at[2] <= 3) {
		record = octets_be16(rest.at + 3);
		rest = text_from(rest, RECORD_HEAD);
	}
	if (rest.length < FRAME_HEAD)
		return -1;
	uint32_t frame = octets_le16(rest.at);

	if (frame < FRAME_MIN || frame > FRAME_MAX || rest.at[4] || rest.at[5] ||
		(record && record != frame))
		return -1;
	*length = frame + (record ? RECORD_HEAD : 0);
	return octets_le16(rest.at + 2);
}

// Of the first frame all has to be here, or the next one cannot be found.
static enum verify verify_frames(const struct probe *probe)
{
	struct text half = probe_text(probe);
	bool port = is_tcp_port(probe->sport) || is_tcp_port(probe->dport);
	uint32_t first_length, length;
	int first = frame_at(half, &first_length);

	if (first < 0)
		return VERIFY_NO;
	if (half.length < first_length)
		return port ? VERIFY_MORE : VERIFY_NO;
	half = text_from(half, first_length);
	if (half.length < RECORD_HEAD + FRAME_HEAD)
		return VERIFY_MORE;
	if (frame_at(half, &length) != ((first + 1) & 0xffff))
		return VERIFY_NO;
	return port ? VERIFY_DPI : VERIFY_PARTIAL;
}

// The frame as a whole is the first thing that a side says: nothing follows before an answer.
static enum verify verify_login(const struct probe *probe)
{
	const uint8_t *at = probe->bytes, *peer = probe->peer;

	if (probe->length < TCP_HEAD)
		return VERIFY_MORE;
	uint32_t length = octets_le16(at);
	bool asks_first = octets_be16(at + 6) == 0xfcff && is_version(at + 8);

	if (length < TCP_MIN || length > TCP_MAX || (!asks_first && !is_version(at + 4)))
		return VERIFY_NO;
	if (asks_first && probe->length == length)
		return VERIFY_DPI;
	if (probe->one_sided && probe->length == length && is_tcp_port(probe->sport))
		return VERIFY_ALONE;
	if (probe->peer_length < TCP_HEAD)
		return probe->length > length && !asks_first ? VERIFY_NO : VERIFY_MORE;
	if (asks_first)
		return is_version(peer + 4) && !memcmp(at + 2, peer + 6, 4) ? VERIFY_YES
									    : VERIFY_MORE;
	uint32_t asked = octets_le16(peer);

	return asked >= TCP_MIN && asked <= TCP_MAX && octets_be16(peer + 6) == 0xfcff &&
			       is_version(peer + 8) && !memcmp(peer + 2, at + 6, 4)
		       ? VERIFY_YES
		       : VERIFY_MORE;
}

static enum verify verify(const struct probe *probe)
{
	if (probe->l4_proto == IPPROTO_UDP)
		return verify_udp(probe);
	enum verify login = verify_login(probe);

	return login == VERIFY_NO ? verify_frames(probe) : login;
}

const struct app_proto app_proto_viber = {
	.name = "viber",
	.title = "Viber",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.verify = verify,
	.tcp_ports = {4244, 5242},
	.udp_ports = {7985, 7987, 5243, 9785},
};
