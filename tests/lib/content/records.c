// SPDX-License-Identifier: BSD-3-Clause
#include "lib/content/records.h"

#include <stdlib.h>
#include <string.h>

#define INPUT_MAX 8192
#define GAP_MAX   1000
#define HALF_BIT  0x80
#define FED_FLAGS (SPAN_GAP | SPAN_MIDSTREAM | SPAN_DATAGRAM | SPAN_FIN)

enum { // octets of a label
	LABEL_WHAT,
	LABEL_BITS,
	LABEL_SIZE,
	LABEL_RANGE = LABEL_SIZE + 2,
	LABEL_FILE = LABEL_RANGE + 2,
};

static struct transcript whole, other;
static struct transfer_label labels[CONVERSATION_SAID];

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void write_head(FILE *file, unsigned kind, uint32_t length)
{
	const uint8_t head[] = {(uint8_t)kind, (uint8_t)(length >> 8), (uint8_t)length};

	fwrite(head, 1, sizeof(head), file);
}

static void write_label(const struct transfer_label *label, FILE *file)
{
	const uint8_t fixed[LABEL_FILE] = {label->what,
		(uint8_t)(label->half | label->begins_cut << 1 | label->coded << 2),
		(uint8_t)(label->size >> 8), (uint8_t)label->size,
		(uint8_t)(label->range_from >> 8), (uint8_t)label->range_from};
	uint32_t length = (uint32_t)strlen(label->file);

	write_head(file, RECORD_ANNOUNCED, LABEL_FILE + length);
	fwrite(fixed, 1, sizeof(fixed), file);
	fwrite(label->file, 1, length, file);
}

void records_write(const struct conversation *conversation, FILE *file)
{
	fwrite("\7\3", 1, 2, file);
	for (const struct said *said = conversation->said; !said_is_last(conversation, said);
		said++) {
		if (said->ends)
			continue;
		if (said->announced) {
			write_label(said->announced, file);
			continue;
		}
		write_head(file,
			(said->half ? HALF_BIT : 0u) | said->flags |
				(said->torrent ? RECORD_TORRENT : 0u),
			said->length);
		if (said->bytes)
			fwrite(said->bytes, 1, said->length, file);
	}
}

static void read_label(struct transfer_label *label, const uint8_t *bytes, size_t length)
{
	uint8_t fixed[LABEL_FILE] = {0};

	memcpy(fixed, bytes, length < LABEL_FILE ? length : LABEL_FILE);
	*label = (struct transfer_label){.what = fixed[LABEL_WHAT] % TRANSFER_WHAT_MAX,
		.half = fixed[LABEL_BITS] & 1,
		.begins_cut = fixed[LABEL_BITS] >> 1 & 1,
		.coded = fixed[LABEL_BITS] >> 2 & 1,
		.size = (uint64_t)fixed[LABEL_SIZE] << 8 | fixed[LABEL_SIZE + 1],
		.range_from = (uint64_t)fixed[LABEL_RANGE] << 8 | fixed[LABEL_RANGE + 1]};
	if (length > LABEL_FILE)
		transfer_text_set(
			label->file, sizeof(label->file), bytes + LABEL_FILE, length - LABEL_FILE);
}

static void read_records(const uint8_t *bytes, size_t len, struct conversation *conversation)
{
	for (unsigned n = 0; n < CONVERSATION_SAID && len >= 3; n++) {
		uint8_t kind = bytes[0];
		size_t length = (size_t)bytes[1] << 8 | bytes[2];
		bool announced = kind & RECORD_ANNOUNCED, torrent = kind & RECORD_TORRENT;
		bool gap = kind & SPAN_GAP && !torrent;

		bytes += 3;
		len -= 3;
		if (gap && !announced)
			length %= GAP_MAX;
		else if (length > len)
			length = len;
		struct said *said = &conversation->said[n];

		if (announced) {
			read_label(&labels[n], bytes, length);
			*said = (struct said){.announced = &labels[n]};
		} else if (torrent) {
			*said = (struct said){
				.torrent = true, .length = (uint32_t)length, .bytes = bytes};
		} else {
			*said = (struct said){kind & HALF_BIT ? HALF_S2C : HALF_C2S,
				kind & FED_FLAGS, (uint32_t)length, gap ? NULL : bytes, NULL, NULL,
				false, NULL};
		}
		if (!announced && !said->flags && !length)
			return;
		if (announced || !gap) {
			bytes += length;
			len -= length;
		}
	}
}

static void same(const struct content_decoder *decoder, const struct conversation *conversation,
	struct feeding feeding)
{
	feeding.want = CONTENT_WANT_DATA;
	conversation_feed(decoder, conversation, &feeding, &other);
	check(whole.told == other.told && !strcmp(whole.text, other.text));
}

int records_fuzz(const struct content_decoder *decoder, const uint8_t *bytes, size_t len)
{
	struct conversation conversation = {.name = "fuzz"};
	const struct feeding at_once = {.want = CONTENT_WANT_DATA, .budget = UINT32_MAX};

	if (len < 2 || len > INPUT_MAX)
		return 0;
	read_records(bytes + 2, len - 2, &conversation);
	uint32_t blocks = conversation_feed(decoder, &conversation, &at_once, &whole);

	same(decoder, &conversation, (struct feeding){.piece = 1, .budget = UINT32_MAX});
	same(decoder, &conversation,
		(struct feeding){
			.seed = 1 + bytes[0], .budget = 1 + bytes[0] % 64, .rest_again = true});
	if (blocks)
		same(decoder, &conversation,
			(struct feeding){.refused = 1 + bytes[1] % blocks, .budget = UINT32_MAX});
	conversation_feed(decoder, &conversation,
		&(struct feeding){.want = CONTENT_WANT_NAME, .budget = 1, .piece = 5}, &other);
	check(!other.told);
	return 0;
}
