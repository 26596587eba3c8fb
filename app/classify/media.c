// SPDX-License-Identifier: BSD-3-Clause
// Whether a datagram continues what the flow's halves have sent before, as RTP does.
#include "classify/media.h"

#define RTP_BYTES         12
#define NUMBERS_MAX       64      // by which the next packet's number is greater: others were lost
#define NUMBERS_OLD       0xff00u // or, modulo 2^16, that it came late
#define STAMPS_MIN        16      // of the fastest clock in the shortest packet: 2 ms at 8 kHz
#define STAMPS_MAX        (1u << 22)        // 46 s of 90 kHz: silence is not sent
#define STAMPS_OLD        (0u - (1u << 17)) // pictures are sent in the order of their decoding
#define REPORT_MIN        200 // RFC 3550 12.1, 4585, 3611: sender, receiver, description, bye ... extended
#define REPORT_MAX        207
#define REPORTS_OF_MARKER 64 // RFC 5761 4: types 64 to 95 with the marker would be reports
#define REPORTS_END       96
#define INDEX_MAX         (1u << 16) // reports of a call: one in a second and less
#define INDEX_STEP        16

static uint8_t more(uint8_t n)
{
	return n < UINT8_MAX ? (uint8_t)(n + 1) : n;
}

// RFC 3550 5.1: version, contributors, an extension with its length, something behind. The padding
// may be sealed.
static bool is_packet(struct text packet)
{
	if (packet.length <= RTP_BYTES)
		return false;
	uint8_t kind = packet.at[1] & 0x7f;
	uint32_t head = RTP_BYTES + 4u * (packet.at[0] & 0x0f), source = octets_be32(packet.at + 8);

	if (kind >= REPORTS_OF_MARKER && kind < REPORTS_END)
		return false;
	if (packet.at[0] & 0x10) {
		if (packet.length < head + 4)
			return false;
		head += 4 + 4u * octets_be16(packet.at + head + 2);
	}
	return packet.length > head && source && source != UINT32_MAX;
}

// The stream of this source; else one that another took the place of: what has shown less.
static struct media_stream *stream_of(struct media_memo *memo, unsigned half, uint32_t source)
{
	struct media_stream *streams = memo->stream[half], *least = streams;

	for (unsigned i = 0; i < MEDIA_STREAMS; i++) {
		if (streams[i].n && streams[i].source == source)
			return &streams[i];
		if (streams[i].n < least->n)
			least = &streams[i];
	}
	return least;
}

static enum media_seen shown_by(const struct media_stream *stream)
{
	if (!(stream->kind & MEDIA_MOVED) || stream->n < 2)
		return MEDIA_BEGINS;
	return stream->n == 2 ? MEDIA_TWO : MEDIA_PROVEN;
}

// The number rises by little, the time stamp by nothing (one picture in several packets) or by as
// much as a packet lasts. With both the source of 32 bits and the type that stays this is 59 bits
// for each packet behind the first; what has a counter in that place, and else does not change, has
// no time stamp.
static enum media_seen look_at_packet(struct media_memo *memo, unsigned half, struct text packet)
{
	const struct media_stream now = {
		.source = octets_be32(packet.at + 8),
		.stamp = octets_be32(packet.at + 4),
		.number = octets_be16(packet.at + 2),
		.kind = packet.at[1] & 0x7f,
		.n = 1,
	};
	struct media_stream *stream = stream_of(memo, half, now.source);
	uint32_t numbers = (uint16_t)(now.number - stream->number),
		 stamps = now.stamp - stream->stamp;

	if (!stream->n || stream->source != now.source) {
		*stream = now;
		return MEDIA_BEGINS;
	}
	if (!numbers || numbers >= NUMBERS_OLD) // again, or late: no proof, and none against it
		return shown_by(stream) == MEDIA_PROVEN ? MEDIA_PROVEN : MEDIA_BEGINS;
	if (numbers > NUMBERS_MAX || (stamps > STAMPS_MAX && stamps < STAMPS_OLD) ||
		(stamps && stamps < STAMPS_MIN)) {
		*stream = now;
		return MEDIA_BEGINS;
	}
	bool counts = (stream->kind & 0x7f) == now.kind; // a tone or silence between voice does not

	stream->stamp = now.stamp;
	stream->number = now.number;
	if (!counts)
		return MEDIA_BEGINS;
	stream->n = more(stream->n);
	if (stamps >= STAMPS_MIN && stamps <= STAMPS_MAX)
		stream->kind |= MEDIA_MOVED;
	return shown_by(stream);
}

static bool is_known(const struct media_memo *memo, unsigned half, uint32_t source)
{
	for (unsigned i = 0; i < MEDIA_STREAMS; i++)
		if (memo->stream[half][i].n && memo->stream[half][i].source == source)
			return true;
	return false;
}

static bool is_report_head(struct text report)
{
	return report.length >= 8 && report.at[0] >> 6 == 2 && report.at[1] >= REPORT_MIN &&
	       report.at[1] <= REPORT_MAX;
}

static uint32_t report_length(struct text report)
{
	return 4u * (octets_be16(report.at + 2) + 1u);
}

// RFC 3550 6.4: what senders and receivers say has a length that its number of blocks gives, or
// one of a profile beyond it.
static bool blocks_fit(struct text report)
{
	uint32_t blocks = report.at[0] & 0x1f;

	switch (report.at[1]) {
	case REPORT_MIN: return report_length(report) >= 28 + 24 * blocks;
	case REPORT_MIN + 1: return report_length(report) >= 8 + 24 * blocks;
	default: return report_length(report) >= 8;
	}
}

// And no profile has added to it.
static bool blocks_are_all(struct text report)
{
	return report.at[1] <= REPORT_MIN + 1 &&
	       report_length(report) ==
		       (report.at[1] == REPORT_MIN ? 28u : 8u) + 24u * (report.at[0] & 0x1f);
}

// RFC 3550 6.1: reports one behind the other up to the end. *n: how many; *again: so many of them
// are of the first one's source.
static bool is_clear(struct text rest, unsigned *n, unsigned *again)
{
	uint32_t source = octets_be32(rest.at + 4);

	for (*n = *again = 0; rest.length; (*n)++) {
		if (!is_report_head(rest) || report_length(rest) > rest.length || !blocks_fit(rest))
			return false;
		*again += *n && octets_be32(rest.at + 4) == source;
		rest = text_from(rest, report_length(rest));
	}
	return true;
}

// RFC 3711 3.4, RFC 7714 9.2: behind the sealed part a bit that says so and an index of 31 bits,
// then the tag of 80 or 32 bits (with GCM it stands before).
static bool take_trailer(struct text report, uint32_t *index, uint8_t *tag)
{
	static const uint8_t tags[] = {10, 4, 0};

	for (unsigned i = 0; i < sizeof(tags); i++) {
		if (report.length < report_length(report) + 4 + tags[i])
			continue;
		uint32_t word = octets_be32(report.at + report.length - 4 - tags[i]);

		*index = word & 0x7fffffff;
		*tag = tags[i];
		if (word >> 31 && *index < INDEX_MAX)
			return true;
	}
	return false;
}

static enum media_seen look_at_sealed(struct media_reports *reports, struct text report)
{
	uint32_t source = octets_be32(report.at + 4), index = 0;
	uint8_t tag = 0;

	if (!blocks_fit(report) || !take_trailer(report, &index, &tag))
		return MEDIA_NOTHING;
	bool goes_on = reports->n && reports->source == source && reports->tag == tag &&
		       index - reports->index - 1u < INDEX_STEP;

	*reports = (struct media_reports){.source = source,
		.index = (uint16_t)index,
		.tag = tag,
		.n = goes_on ? more(reports->n) : 1};
	return reports->n > 2 ? MEDIA_PROVEN : reports->n == 2 ? MEDIA_TWO : MEDIA_SEALED;
}

// What an end has received of the other one's stream.
static bool is_of_other(const struct media_memo *memo, unsigned half, struct text report)
{
	uint32_t block = report.at[1] == REPORT_MIN       ? 28
			 : report.at[1] == REPORT_MIN + 1 ? 8
							  : UINT32_MAX;

	return block < report_length(report) &&
	       is_known(memo, !half, octets_be32(report.at + block));
}

static enum media_seen look_at_report(struct media_memo *memo, unsigned half, struct text report)
{
	struct media_reports *reports = &memo->reports[half];
	uint32_t source = octets_be32(report.at + 4);
	unsigned n, again;
	bool clear = is_clear(report, &n, &again);

	if (!source || (!clear && report_length(report) + 8 > report.length))
		return MEDIA_NOTHING;
	if (is_known(memo, half, source) || (clear && is_of_other(memo, half, report)))
		return MEDIA_PROVEN;
	if (!clear)
		return look_at_sealed(reports, report);
	bool goes_on = reports->n && reports->source == source;

	*reports = (struct media_reports){.source = source, .n = goes_on ? more(reports->n) : 1};
	if (goes_on || again)
		return MEDIA_PROVEN;
	return n > 1 || blocks_are_all(report) ? MEDIA_TWO : MEDIA_BEGINS;
}

enum media_seen media_look(
	struct media_memo *memo, unsigned half, struct text datagram, bool announced)
{
	enum media_seen seen = MEDIA_NOTHING;

	if (!media_may_be(datagram))
		return MEDIA_NOTHING;
	if (is_report_head(datagram))
		seen = look_at_report(memo, half, datagram);
	else if (is_packet(datagram))
		seen = look_at_packet(memo, half, datagram);
	if (!announced || seen == MEDIA_NOTHING)
		return seen;
	if (is_report_head(datagram) || seen > MEDIA_BEGINS)
		return MEDIA_PROVEN;
	// One header that fits is 3 in 16 of random bytes: a hint, and as good as two packets.
	stream_of(memo, half, octets_be32(datagram.at + 8))->n = 2;
	return MEDIA_TWO;
}
