// SPDX-License-Identifier: BSD-3-Clause
// A datagram of eDonkey or Kad: what it names has bounds, nothing behind it is read, and memory is
// given back. Compressed as it is, and as what is inside of a compressed one.
#include "content/edonkey/datagram.h"
#include "content/memory.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void on_id(void *ctx, const struct content_id *id, unsigned half)
{
	check(id->kind == CONTENT_ID_ED2K && half == HALF_S2C);
	++*(unsigned *)ctx;
}

static enum content_want on_file(void *ctx, const struct content_file *file)
{
	volatile uint8_t sum = 0;

	check(*(unsigned *)ctx > 0); // its id was told before
	check(file->elsewhere && file->name.length && file->name.length <= CONTENT_NAME_BYTES);
	check(file->whole && file->whole->size == file->size && !file->whole->n_pieces);
	for (uint32_t i = 0; i < file->name.length; i++)
		sum = (uint8_t)(sum + file->name.bytes[i]);
	return CONTENT_WANT_NAME;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static struct content_memory *memory;
	struct content_memory_use use;
	unsigned n = 0;
	const struct content_sink sink = {.file = on_file, .id = on_id, .ctx = &n};
	uint8_t *exact = len && len <= UINT16_MAX ? malloc(len) : NULL;

	if (!memory)
		memory = content_memory_new(1, -1);
	if (!exact || !memory)
		return 0;
	memcpy(exact, bytes, len);
	const struct span span = {.unchecked = exact,
		.extent = (uint32_t)len,
		.half = HALF_S2C,
		.flags = SPAN_DATAGRAM};

	check(ed2k_datagram(&span, memory, &sink));
	check(n <= ED2K_DATAGRAM_MAX / 16);
	content_memory_look(memory, &use);
	check(!use.used);
	free(exact);
	return 0;
}
