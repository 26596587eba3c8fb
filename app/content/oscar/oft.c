// SPDX-License-Identifier: BSD-3-Clause
// Connections between clients, or to a proxy. OFT: heads of "OFT2", of which those of the sender
// (prompt, answer to a resume) begin a file, and its bytes behind them; several files in turn. ODC:
// heads of "ODC2", each with a text behind it.
#include "content/charset.h"
#include "content/memory.h"
#include "content/oscar/oscar.h"
#include "content/oscar/tlv.h"

#define BEGIN_BYTES    8
#define ODC_LEAST      76
#define ODC_MOST       256
#define PROXY_VERSION  0x044a
#define PROXY_MOST     1024
#define NAME_AT        192
#define ODC_USER       44
#define ODC_USER_BYTES 32

enum {
	OFT_PROMPT = 0x0101,
	OFT_RESUMED = 0x0106,
	OFT_ACKNOWLEDGE = 0x0202,
	OFT_RESUME = 0x0205,
};

static void begin_head(const struct oscar_turn *to)
{
	oscar_drop_kept(to);
	to->half->want = BEGIN_BYTES;
	to->half->phase = OSCAR_DIRECT;
}

// How long the head is that begins so; 0: it is none.
static uint32_t head_length(const uint8_t *head)
{
	uint32_t length = octets_be16(head + 4), proxy = 2u + octets_be16(head);

	if (!memcmp(head, "OFT", 3) && octets_digit(head[3]))
		return length >= OFT_LEAST && length <= OFT_MOST ? length : 0;
	if (!memcmp(head, "ODC", 3) && octets_digit(head[3]))
		return length >= ODC_LEAST && length <= ODC_MOST ? length : 0;
	return octets_be16(head + 2) == PROXY_VERSION && proxy >= BEGIN_BYTES && proxy <= PROXY_MOST
		       ? proxy
		       : 0;
}

// As UTF-8, with its folders, which \1 divides.
static struct content_text name_of(const struct oscar_half *half, uint8_t *room, uint32_t size)
{
	struct content_text name = {half->kept + NAME_AT, half->want - NAME_AT};
	struct text_out out = {.bytes = room, .size = size};
	bool wide = octets_be16(half->kept + 188) == 2;
	uint32_t n = 0;

	if (!wide) {
		n = http_until(name, 0);
		n = n < size ? n : size;
		memcpy(room, name.bytes, n);
	} else {
		charset_text(&out, CHARSET_UTF16BE, name.bytes,
			charset_utf16_until_nul(name.bytes, name.length));
		n = out.written;
	}
	for (uint32_t i = 0; i < n; i++)
		if (room[i] == 1)
			room[i] = '/';
	return (struct content_text){room, n};
}

// Whoever receives a single file stores it under the name that was offered, or under this one.
static void open_file(const struct oscar_turn *to, uint64_t at64)
{
	struct oscar_half *half = to->half;
	const struct transfer_label *label = to->turn->announced;
	struct content_file offered = content_announced_file(label, to->side, !to->state->files);
	uint8_t room[CONTENT_NAME_BYTES];
	struct content_file file =
		content_file_of_path(name_of(half, room, sizeof(room)), offered.user);

	if (!file.name.length) {
		file.name = offered.name;
		file.name_cut = offered.name_cut;
	} else if (offered.name.length && !half->ended && !http_same(offered.name, file.name)) {
		file.aliases[0].name = offered.name;
		file.aliases[0].source = CONTENT_NAME_OFFER;
		file.n_aliases = 1;
	}
	file.name_source = file.name.length ? CONTENT_NAME_OFFER : CONTENT_NAME_NONE;
	file.half = to->side;
	file.announced = offered.announced && !half->ended;
	file.size = half->size;
	file.partial = half->base;
	file.range_from = half->base;
	if (octets_be32(half->kept + 16)) // encrypted, or compressed
		oscar_note(to, CONTENT_NOTE_CODING_UNKNOWN, half->begin64);
	content_raw_open(&half->raw, to->turn, &file, &to->state->files, at64);
	half->prompted = false;
}

static void end_file(const struct oscar_turn *to, enum content_end end, uint64_t ends64)
{
	struct oscar_half *half = to->half;

	half->ended += half->raw.id != 0;
	content_raw_end(&half->raw, to->turn, end, ends64);
}

static uint64_t missing(const struct oscar_half *half)
{
	return half->size - half->base - half->raw.at;
}

static void begin_file(const struct oscar_turn *to, uint64_t base, uint64_t at64)
{
	struct oscar_half *half = to->half;

	half->size = octets_be32(half->kept + 32);
	if (base > half->size) {
		oscar_note(to, CONTENT_NOTE_BAD_LENGTH, half->begin64);
		base = half->size;
	}
	half->base = base;
	half->raw = (struct content_raw){0};
	half->prompted = true;
	if (half->size > base) {
		half->phase = OSCAR_BYTES;
		return;
	}
	open_file(to, at64);
	end_file(to, CONTENT_END_CLOSED, at64);
	begin_head(to);
}

static void take_oft(const struct oscar_turn *to, uint64_t at64)
{
	struct oscar_half *half = to->half, *other = &to->state->halves[!to->side];

	switch (octets_be16(half->kept + 6)) {
	case OFT_PROMPT: begin_file(to, 0, at64); return;
	case OFT_RESUMED: begin_file(to, octets_be32(half->kept + 60), at64); return;
	case OFT_ACKNOWLEDGE: other->resumes = false; break;
	case OFT_RESUME: other->resumes = true; break;
	default: break;
	}
	begin_head(to);
}

static void take_odc(const struct oscar_turn *to)
{
	struct oscar_half *half = to->half;

	half->left = octets_be32(half->kept + 28);
	half->have = ODC_LEAST; // the name of who writes stays
	half->phase = OSCAR_TEXT;
	if (!half->left)
		begin_head(to);
}

static enum content_fed take_head(
	const struct oscar_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct oscar_half *half = to->half;

	if (!oscar_need_kept(to, OSCAR_FRAME_BYTES))
		return CONTENT_NO_MEMORY;
	if (!half->have)
		half->begin64 = oscar_at64(to);
	if (!content_gather(half->kept, &half->have, half->want, bytes, length, taken))
		return CONTENT_FED;
	if (half->want == BEGIN_BYTES && half->have == BEGIN_BYTES) {
		half->want = head_length(half->kept);
		if (!half->want) {
			oscar_note(to, CONTENT_NOTE_BAD_LINE, half->begin64);
			return CONTENT_OVER;
		}
		if (half->want > BEGIN_BYTES)
			return CONTENT_FED;
	}
	if (half->kept[0] != 'O')
		begin_head(to);
	else if (half->kept[1] == 'D')
		take_odc(to);
	else
		take_oft(to, oscar_at64(to) + *taken);
	return CONTENT_FED;
}

static enum content_fed take_bytes(
	const struct oscar_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct oscar_half *half = to->half;

	if (half->prompted && half->resumes) { // the sender answers first
		half->resumes = false;
		begin_head(to);
		return take_head(to, bytes, length, taken);
	}
	if (half->prompted)
		open_file(to, oscar_at64(to));
	oscar_drop_kept(to);
	if (length > missing(half))
		length = (uint32_t)missing(half);
	*taken = content_raw_put(&half->raw, to->turn, bytes, length);
	if (!missing(half)) {
		end_file(to, CONTENT_END_CLOSED, oscar_at64(to) + *taken);
		begin_head(to);
	}
	return *taken < length ? CONTENT_MORE : CONTENT_FED;
}

static void tell_text(const struct oscar_turn *to, uint64_t ends64)
{
	struct oscar_half *half = to->half;
	struct content_text bytes = {half->kept + ODC_LEAST, half->have - ODC_LEAST};
	const uint8_t *binary =
		bytes.length ? memmem(bytes.bytes, bytes.length, "<BINARY>", 8) : NULL;
	struct oscar_snac body = {.body = bytes, .body64 = ends64 - bytes.length};
	struct oscar_text text = {.snac = &body,
		.from = {half->kept + ODC_USER, ODC_USER_BYTES},
		.bytes = bytes,
		.charset = octets_be16(half->kept + 32)};

	text.from.length = http_until(text.from, 0);
	if (binary)
		text.bytes.length = (uint32_t)(binary - bytes.bytes);
	oscar_text_tell(to, &text);
}

// Pictures come behind a text, in its message.
static void take_text(
	const struct oscar_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct oscar_half *half = to->half;
	bool reads = half->have < OSCAR_FRAME_BYTES;

	if (length > half->left)
		length = half->left;
	if (reads && length > OSCAR_FRAME_BYTES - half->have)
		length = OSCAR_FRAME_BYTES - half->have;
	if (reads) {
		memcpy(half->kept + half->have, bytes, length);
		half->have += length;
	}
	*taken = length;
	half->left -= length;
	if (reads && (!half->left || half->have == OSCAR_FRAME_BYTES))
		tell_text(to, oscar_at64(to) + length);
	if (!half->left)
		begin_head(to);
}

enum content_fed oscar_peer_take(
	const struct oscar_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct oscar_half *half = to->half;

	switch (half->phase) {
	case OSCAR_SKIP: *taken = length; return CONTENT_FED;
	case OSCAR_BYTES: return take_bytes(to, bytes, length, taken);
	case OSCAR_TEXT: take_text(to, bytes, length, taken); return CONTENT_FED;
	case OSCAR_FLAP: begin_head(to); break;
	default: break;
	}
	return take_head(to, bytes, length, taken);
}

// Of who receives nothing needs to be heard.
uint64_t oscar_peer_lose(const struct oscar_turn *to, uint64_t length)
{
	struct oscar_half *half = to->half, *other = &to->state->halves[!to->side];
	bool receives = !half->ended && half->phase != OSCAR_BYTES &&
			(other->ended || other->phase == OSCAR_BYTES);

	if (receives) {
		oscar_drop_kept(to);
		half->phase = OSCAR_SKIP;
		return 0;
	}
	if (half->phase != OSCAR_BYTES || (half->prompted && half->resumes))
		return length;
	if (half->prompted)
		open_file(to, oscar_at64(to));
	oscar_drop_kept(to);
	uint64_t here = length < missing(half) ? length : missing(half);

	content_raw_lose(&half->raw, here);
	if (!missing(half)) {
		end_file(to, CONTENT_END_CLOSED, oscar_at64(to) + here);
		begin_head(to);
	}
	return length - here;
}

void oscar_peer_end(const struct oscar_turn *to)
{
	end_file(to, CONTENT_END_TRUNCATED, to->half->raw.begins64);
}
