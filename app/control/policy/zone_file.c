// SPDX-License-Identifier: BSD-3-Clause
// Parses a TZif file of the time zone database.
#include "control/policy/zone_file.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/suggest.h"
#include "control/policy/zone_rule.h"

#define FILE_MAX_BYTES 65536 // the longest of tzdata has 3.5 KB
#define HEADER_BYTES   44
#define LAST_YEAR      2137        // the rule in the footer is written out until then
#define OFFSET_MAX     (26 * 3600) // RFC 8536 section 3.2

const char *zone_folder(void)
{
	const char *folder = getenv("TZDIR");

	return folder && *folder ? folder : "/usr/share/zoneinfo";
}

bool zone_name_is_good(const char *name)
{
	bool begins = true; // a part of the name

	if (!isalpha((unsigned char)*name) || strlen(name) >= ZONE_NAME_SIZE)
		return false;
	for (; *name; name++) {
		if (*name == '/' ? begins : !isalnum((unsigned char)*name) && !strchr("_+-", *name))
			return false;
		begins = *name == '/';
	}
	return !begins;
}

struct reading {
	const uint8_t *at;
	size_t left;
};

// The next `n` octets, or NULL.
static const uint8_t *take(struct reading *reading, size_t n)
{
	const uint8_t *at = reading->at;

	if (n > reading->left)
		return NULL;
	reading->at += n;
	reading->left -= n;
	return at;
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int64_t be64(const uint8_t *p)
{
	return (int64_t)((uint64_t)be32(p) << 32 | be32(p + 4));
}

struct counts { // of a header, in its order
	uint32_t utc, std, leap, time, type, chars;
};

static bool read_header(struct reading *reading, struct counts *counts)
{
	const uint8_t *head = take(reading, HEADER_BYTES);

	if (!head || memcmp(head, "TZif", 4) != 0 || head[4] < '2')
		return false;
	*counts = (struct counts){be32(head + 20), be32(head + 24), be32(head + 28),
		be32(head + 32), be32(head + 36), be32(head + 40)};
	return counts->utc <= FILE_MAX_BYTES && counts->std <= FILE_MAX_BYTES &&
	       counts->leap <= FILE_MAX_BYTES && counts->time <= FILE_MAX_BYTES &&
	       counts->type <= 256 && counts->chars <= FILE_MAX_BYTES;
}

// Octets of a block whose times have `width` octets.
static size_t block_bytes(const struct counts *c, size_t width)
{
	return c->time * (width + 1) + c->type * 6 + c->chars + c->leap * (width + 4) + c->std +
	       c->utc;
}

static int shift_add(struct zone *zone, size_t *room, int64_t from_s, int32_t east_s)
{
	if (zone->n_shifts && zone->shifts[zone->n_shifts - 1].east_s == east_s)
		return 0;
	if (zone->n_shifts && zone->shifts[zone->n_shifts - 1].from_s == from_s) {
		zone->shifts[zone->n_shifts - 1].east_s = east_s; // summer time all year
		return 0;
	}
	if (zone->n_shifts == *room) {
		size_t more = *room ? *room * 2 : 64;
		struct zone_shift *grown = reallocarray(zone->shifts, more, sizeof *grown);

		if (!grown)
			return -ENOMEM;
		zone->shifts = grown;
		*room = more;
	}
	zone->shifts[zone->n_shifts++] = (struct zone_shift){.from_s = from_s, .east_s = east_s};
	return 0;
}

// The explicit changes, of the block with times of 8 octets. *last_s: the last one's time.
static int read_changes(const uint8_t *block, const struct counts *c, struct zone *zone,
	size_t *room, int64_t *last_s)
{
	const uint8_t *indices = block + (size_t)c->time * 8, *types = indices + c->time;
	int rc = 0;

	for (uint32_t i = 0; i < c->type; i++) {
		int32_t east_s = (int32_t)be32(types + (size_t)i * 6);

		if (east_s > OFFSET_MAX || east_s < -OFFSET_MAX)
			return -EBADMSG;
	}
	rc = shift_add(zone, room, INT64_MIN, (int32_t)be32(types));
	*last_s = INT64_MIN;
	for (uint32_t i = 0; i < c->time && !rc; i++) {
		int64_t from_s = be64(block + (size_t)i * 8);

		if (indices[i] >= c->type || (i && from_s <= *last_s))
			return -EBADMSG;
		*last_s = from_s;
		rc = shift_add(zone, room, from_s, (int32_t)be32(types + (size_t)indices[i] * 6));
	}
	return rc;
}

// What the footer's rule says of the years behind the explicit changes.
static int add_rule(const struct zone_rule *rule, int64_t last_s, struct zone *zone, size_t *room)
{
	int rc = 0;

	for (int year = 1970; rule->has_summer && year <= LAST_YEAR && !rc; year++) {
		struct zone_shift pair[2];

		zone_rule_year(rule, year, pair);
		for (unsigned i = 0; i < 2 && !rc; i++)
			if (pair[i].from_s > last_s)
				rc = shift_add(zone, room, pair[i].from_s, pair[i].east_s);
	}
	return rc;
}

// "\nCET-1CEST,M3.5.0,M10.5.0/3\n", or nothing between the ends of line.
static int read_footer(struct reading *reading, int64_t last_s, struct zone *zone, size_t *room)
{
	const uint8_t *begin = take(reading, 1);
	const uint8_t *end = begin ? memchr(reading->at, '\n', reading->left) : NULL;
	struct zone_rule rule;
	char text[128];
	size_t n;

	if (!end || *begin != '\n')
		return -EBADMSG;
	n = (size_t)(end - reading->at);
	if (!n)
		return 0;
	if (n >= sizeof text)
		return -EBADMSG;
	memcpy(text, reading->at, n);
	text[n] = 0;
	if (strlen(text) != n || !zone_rule_parse(text, &rule))
		return -EBADMSG;
	return add_rule(&rule, last_s, zone, room);
}

int zone_parse(const uint8_t *octets, size_t n, const char *name, struct zone *zone)
{
	struct reading reading = {octets, n};
	struct zone made = {0};
	struct counts counts;
	const uint8_t *block;
	int64_t last_s;
	size_t room = 0;
	int rc;

	// first the same again with times of 4 octets, for old readers
	if (!read_header(&reading, &counts) || !take(&reading, block_bytes(&counts, 4)) ||
		!read_header(&reading, &counts) || !counts.type)
		return -EBADMSG;
	if (counts.leap)
		return -ENOTSUP;
	block = take(&reading, block_bytes(&counts, 8));
	if (!block)
		return -EBADMSG;
	rc = read_changes(block, &counts, &made, &room, &last_s);
	if (!rc)
		rc = read_footer(&reading, last_s, &made, &room);
	if (rc) {
		free(made.shifts);
		return rc;
	}
	snprintf(made.name, sizeof made.name, "%s", name);
	*zone = made;
	return 0;
}

static int read_whole(int fd, uint8_t *octets, size_t room, size_t *n)
{
	struct stat about;
	ssize_t got = 1;

	if (fstat(fd, &about) < 0)
		return -errno;
	if (S_ISDIR(about.st_mode))
		return -EISDIR;
	if (!S_ISREG(about.st_mode))
		return -EBADMSG;
	for (*n = 0; *n < room && got > 0; *n += (size_t)got) {
		got = read(fd, octets + *n, room - *n);
		if (got < 0)
			return -errno;
	}
	return *n == room ? -EBADMSG : 0; // no zone is so long
}

int zone_file_read(const char *name, struct zone *zone)
{
	char path[PATH_MAX];
	uint8_t *octets;
	size_t n = 0;
	int fd, rc;

	snprintf(path, sizeof path, "%s/%s", zone_folder(), name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return access(zone_folder(), F_OK) == 0 ? -ENOENT : -ENOTDIR;
	if (fd < 0)
		return -errno;
	octets = malloc(FILE_MAX_BYTES);
	rc = octets ? read_whole(fd, octets, FILE_MAX_BYTES, &n) : -ENOMEM;
	if (!rc)
		rc = zone_parse(octets, n, name, zone);
	free(octets);
	close(fd);
	return rc;
}

// tzdata.zi lists the zones as "Z NAME ..." and other names of theirs as "L ZONE NAME".
bool zone_name_suggest(const char *name, char out[ZONE_NAME_SIZE])
{
	struct suggestion suggestion = suggest_for(name);
	char line[512], word[ZONE_NAME_SIZE];
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof path, "%s/tzdata.zi", zone_folder());
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof line, file)) {
		if (sscanf(line, "L %*s %63s", word) != 1 && sscanf(line, "Z %63s", word) != 1)
			continue;
		suggest_offer(&suggestion, word);
		if (suggestion.best == word) {
			memcpy(out, word, sizeof word);
			suggestion.best = out;
		}
	}
	fclose(file);
	return suggest_get(&suggestion);
}
