// SPDX-License-Identifier: BSD-3-Clause
// Zoom: by the hosts of its service, media by its own frames over UDP (Michel et al., "Enabling
// Passive Measurement of Zoom Performance in Production Networks", IMC 2022, and its dissector).
// Hello: 1, 0, 2 or 3, 16 octets; the server's answer is 2, 0, 1 and the same 16: 128 bits. From
// one side alone: behind them seven octets zero, one, two numbers of 32 bits that are the same, a
// length that fits (120 bits); of an answer of 35 octets the last eight are zero (88 bits). Media
// through a server: 5, sequence, direction 0 or 4 at 7, then the frame that peers send each other
// without a server: type 15 (audio), 16 (video), 13 and 30 (screen); RTP at 19, 20 or 24, 27, 20.
// Believed when two frames of a half carry the same stream: type, payload type, SSRC and a sequence
// number that follows: 60 bits through a server, 50 without.
// Peers look for each other with a frame of type 31: 2, 1, 0, up to 24 octets of head, then with
// their lengths of 32 bits an address as text and a GUID, and four octets of zero at the end
// (ntop's nDPI, zoom.c, as it describes them): more than 200 bits.
#include "classify/app_proto.h"
#include "classify/text.h"

#define HELLO_MIN   35
#define TOKEN       3 // offset
#define SERVER_HEAD 8
#define RTP_BYTES   12
#define STEP_MAX    64 // of RTP's sequence numbers, packets being lost
#define PEER_BEGINS 0x1f020100
#define PEER_HEAD   24
#define PEER_END    4
#define LENGTH      4 // of 32 bits, in front of an address and a GUID
#define DOTTED_MAX  15
#define GUID_BYTES  36

enum kind { // in the memo
	NOTHING,
	HELLO,
	MEDIA,
};

static bool is_zero(const uint8_t *at, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (at[i])
			return false;
	return true;
}

static bool is_whole_hello(const struct probe *probe)
{
	const uint8_t *at = probe->bytes + TOKEN + 16;

	return probe->length >= HELLO_MIN + 4 && is_zero(at, 7) && !is_zero(at + 8, 4) &&
	       !memcmp(at + 8, at + 12, 4) && octets_be32(at + 16) <= probe->length - HELLO_MIN - 4;
}

// Memo: kind; HELLO: the token; MEDIA: per half SSRC, then types and sequence number.
static enum verify verify_hello(const struct probe *probe)
{
	uint32_t *memo = probe->memo->word;
	const uint8_t *at = probe->bytes;

	if (probe->length < HELLO_MIN || at[1])
		return VERIFY_NO;
	if (at[0] == 2 && at[2] == 1 && memo[0] != HELLO)
		return probe->length == HELLO_MIN && is_zero(at + HELLO_MIN - 8, 8) ? VERIFY_DPI
										    : VERIFY_NO;
	if (at[0] == 2 && at[2] == 1)
		return !memcmp(memo + 1, at + TOKEN, 16) ? VERIFY_YES : VERIFY_NO;
	if (at[0] != 1 || (at[2] != 2 && at[2] != 3))
		return VERIFY_NO;
	memo[0] = HELLO;
	memcpy(memo + 1, at + TOKEN, 16);
	return is_whole_hello(probe) ? VERIFY_DPI : VERIFY_MORE;
}

static uint32_t rtp_offset(struct text frame)
{
	switch (frame.at[0]) {
	case 13: return frame.at[7] == 30 ? 27 : 0;
	case 15: return 19;
	case 16: return frame.at[20] == 2 ? 24 : 20;
	case 30: return 20;
	default: return 0;
	}
}

// 98 video, 99 screen and silence, 110 correction, 112 and 113 audio.
static bool is_payload_type(uint8_t octet)
{
	uint8_t type = octet & 0x7f;

	return type == 98 || type == 99 || type == 110 || type == 112 || type == 113;
}

static enum verify verify_media(const struct probe *probe, struct text frame)
{
	uint32_t *memo = probe->memo->word, *seen = memo + 1 + 2 * (probe->half & 1);

	if (frame.length < 24 + RTP_BYTES)
		return VERIFY_NO;
	uint32_t offset = rtp_offset(frame);
	const uint8_t *rtp = frame.at + offset;

	if (!offset || frame.length < offset + RTP_BYTES || rtp[0] >> 6 != 2 ||
		!is_payload_type(rtp[1]))
		return VERIFY_NO;
	uint32_t ssrc = octets_be32(rtp + 8), sequence = octets_be16(rtp + 2);
	uint32_t types = (uint32_t)frame.at[0] << 24 | (uint32_t)(rtp[1] & 0x7f) << 16;
	bool same = memo[0] == MEDIA && seen[0] == ssrc && (seen[1] & 0xffff0000) == types;

	if (same && ((sequence - seen[1]) & 0xffff) - 1 < STEP_MAX)
		return VERIFY_DPI;
	if (memo[0] == HELLO)
		return VERIFY_MORE; // its answer is on its way
	memo[0] = MEDIA;
	seen[0] = ssrc;
	seen[1] = types | sequence;
	return VERIFY_MORE;
}

// 1 to 3 digits, four times, and no other octet.
static bool is_dotted(const uint8_t *at, uint32_t length)
{
	unsigned parts = 1, digits = 0, value = 0;

	for (uint32_t i = 0; i < length; i++) {
		if (at[i] == '.' && digits) {
			parts++;
			digits = value = 0;
		} else if (octets_digit(at[i]) && digits < 3) {
			digits++;
			value = 10 * value + (at[i] - (unsigned)'0');
		} else {
			return false;
		}
		if (value > 255)
			return false;
	}
	return parts == 4 && digits;
}

// RFC 9562 4: 8-4-4-4-12 hexadecimal digits.
static bool is_guid(const uint8_t *at)
{
	for (unsigned i = 0; i < GUID_BYTES; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? at[i] != '-' : octets_hex(at[i]) < 0)
			return false;
	}
	return true;
}

static enum verify verify_peer(struct text datagram)
{
	if (datagram.length < PEER_HEAD + LENGTH || octets_be32(datagram.at) != PEER_BEGINS)
		return VERIFY_NO;
	uint32_t n_address = octets_be32(datagram.at + PEER_HEAD);
	uint32_t guid = PEER_HEAD + LENGTH + n_address; // offset of its length

	if (n_address > DOTTED_MAX || datagram.length != guid + LENGTH + GUID_BYTES + PEER_END)
		return VERIFY_NO;
	return is_dotted(datagram.at + PEER_HEAD + LENGTH, n_address) &&
			       octets_be32(datagram.at + guid) == GUID_BYTES &&
			       is_guid(datagram.at + guid + LENGTH) &&
			       is_zero(datagram.at + datagram.length - PEER_END, PEER_END)
		       ? VERIFY_YES
		       : VERIFY_NO;
}

static enum verify look(const struct probe *probe)
{
	struct text datagram = probe_text(probe);

	if (datagram.length < HELLO_MIN)
		return VERIFY_NO;
	switch (datagram.at[0]) {
	case 1:
	case 2: return verify_hello(probe);
	case 5:
		if (datagram.at[7] != 0 && datagram.at[7] != 4)
			return VERIFY_NO;
		return verify_media(probe, text_from(datagram, SERVER_HEAD));
	case 0x1f: return verify_peer(datagram);
	default: return verify_media(probe, datagram);
	}
}

// Datagrams of other kinds may come between those that tell.
static enum verify verify(const struct probe *probe)
{
	enum verify answer = look(probe);

	return answer == VERIFY_NO && probe->memo->word[0] ? VERIFY_MORE : answer;
}

const struct app_proto app_proto_zoom = {
	.name = "zoom",
	.title = "Zoom",
	.group = "conference",
	.category = APP_CATEGORY_IM,
	.verify = verify,
	.tcp_ports = {8801, 8802},
	.udp_ports = {8801},
};
