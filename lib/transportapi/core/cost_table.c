// SPDX-License-Identifier: BSD-3-Clause
// Reads the file of measured costs, and interpolates between message sizes.
#include "transportapi/core/cost_table.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX       4096
#define NAME_BYTES_MAX 31 // of a transport (registry.h)

struct row {
	char transport[NAME_BYTES_MAX + 1];
	uint32_t size;
	size_t index; // in the file
	double median_us, loss;
};

struct tapi_cost_table {
	size_t count;
	struct row rows[]; // by transport, then by size
};

static int compare(const void *a, const void *b)
{
	const struct row *one = a, *two = b;
	int order = strcmp(one->transport, two->transport);

	if (order)
		return order;
	return one->size < two->size ? -1 : one->size > two->size;
}

static enum tapi_result wrong(const char *path, size_t index, const char *member, const char *what,
	struct tapi_error *error)
{
	tapi_error_format(error, "%s: rows[%zu].%s: %s", path, index, member, what);
	return TAPI_ECONF;
}

static enum tapi_result read_row(struct row *out, const json_t *row, size_t index, const char *path,
	struct tapi_error *error)
{
	const json_t *name = json_object_get(row, "transport");
	const json_t *size = json_object_get(row, "size");
	const json_t *median = json_object_get(row, "median_us");
	const json_t *loss = json_object_get(row, "loss");

	if (!json_string_length(name) || json_string_length(name) > NAME_BYTES_MAX)
		return wrong(path, index, "transport", "has to be the name of a transport", error);
	if (!json_is_integer(size) || json_integer_value(size) < 0 ||
		json_integer_value(size) > UINT32_MAX)
		return wrong(path, index, "size", "has to be a number of octets", error);
	if (!json_is_number(median) || json_number_value(median) < 0)
		return wrong(path, index, "median_us", "has to be microseconds, 0 or more", error);
	if (!json_is_number(loss) || json_number_value(loss) < 0 || json_number_value(loss) > 1)
		return wrong(path, index, "loss", "has to be a share from 0 to 1", error);
	memcpy(out->transport, json_string_value(name), json_string_length(name) + 1);
	out->size = (uint32_t)json_integer_value(size);
	out->index = index;
	out->median_us = json_number_value(median);
	out->loss = json_number_value(loss);
	return TAPI_OK;
}

static enum tapi_result read_rows(
	struct tapi_cost_table *out, const json_t *rows, const char *path, struct tapi_error *error)
{
	for (; out->count < json_array_size(rows); out->count++) {
		enum tapi_result result = read_row(&out->rows[out->count],
			json_array_get(rows, out->count), out->count, path, error);

		if (result)
			return result;
	}
	qsort(out->rows, out->count, sizeof(out->rows[0]), compare);
	for (size_t i = 1; i < out->count; i++)
		if (compare(&out->rows[i - 1], &out->rows[i]) == 0) {
			tapi_error_format(error,
				"%s: rows[%zu] and rows[%zu] are both of %s and %u octets: which "
				"one counts?",
				path, out->rows[i - 1].index, out->rows[i].index,
				out->rows[i].transport, out->rows[i].size);
			return TAPI_ECONF;
		}
	return TAPI_OK;
}

static enum tapi_result from_rows(struct tapi_cost_table **out, const json_t *rows,
	const char *path, struct tapi_error *error)
{
	size_t count = json_array_size(rows);
	struct tapi_cost_table *measured;
	enum tapi_result result;

	if (!count || count > ROWS_MAX) {
		tapi_error_format(error,
			"%s: \"rows\" has to be a list of 1 to %d measurements: name the "
			"measured.json that tools/tpbench latency wrote",
			path, ROWS_MAX);
		return TAPI_ECONF;
	}
	measured = calloc(1, sizeof(*measured) + count * sizeof(measured->rows[0]));
	if (!measured) {
		tapi_error_format(error, "%s: out of memory", path);
		return TAPI_ENOMEM;
	}
	result = read_rows(measured, rows, path, error);
	if (result)
		tapi_cost_table_free(measured);
	else
		*out = measured;
	return result;
}

enum tapi_result tapi_cost_table_load(
	struct tapi_cost_table **out, const char *path, struct tapi_error *error)
{
	json_error_t fault;
	json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &fault);
	enum tapi_result result;

	*out = NULL;
	if (root) {
		result = from_rows(out, json_object_get(root, "rows"), path, error);
		json_decref(root);
		return result;
	}
	if (!fault.text[0]) { // jansson's way to say so, mostly
		tapi_error_format(error, "%s: out of memory", path);
		return TAPI_ENOMEM;
	}
	if (fault.line < 0)
		tapi_error_format(error, "%s: cannot be read: %s", path, fault.text);
	else
		tapi_error_format(error, "%s:%d: %s", path, fault.line, fault.text);
	return TAPI_ECONF;
}

void tapi_cost_table_free(struct tapi_cost_table *measured)
{
	free(measured);
}

bool tapi_cost_table_at(const struct tapi_cost_table *measured, const char *transport,
	uint32_t size, double *median_us, double *loss)
{
	const struct row *below = NULL, *above = NULL;
	double part;

	for (size_t i = 0; i < measured->count; i++) {
		const struct row *row = &measured->rows[i];

		if (strcmp(row->transport, transport) != 0)
			continue;
		if (row->size <= size)
			below = row;
		if (row->size >= size && !above)
			above = row;
	}
	if (!below && !above)
		return false;
	if (!below)
		below = above;
	if (!above)
		above = below;
	part = above->size > below->size
		       ? (double)(size - below->size) / (double)(above->size - below->size)
		       : 0;
	*median_us = below->median_us + part * (above->median_us - below->median_us);
	*loss = below->loss + part * (above->loss - below->loss);
	return true;
}
