// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes connection cache entries as lines of JSON.
#include "control/cache/file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_out.h"

static void put_realm(struct json_out *out, uint32_t realm)
{
	int session = realm_session(realm);
	uint16_t tags[2];
	unsigned n = realm_tags(realm, tags);

	if (n > 0)
		json_out_u64(out, "vlan", tags[0]);
	if (n > 1)
		json_out_u64(out, "inner_vlan", tags[1]);
	if (session >= 0)
		json_out_u64(out, "pppoe_session", (uint64_t)session);
}

size_t cache_line_write(const struct cache_line *line, char *buffer, size_t length)
{
	const struct conn_entry *entry = &line->entry;
	struct json_out out;

	if (entry->key.realm & REALM_HASHED)
		return 0; // means nothing to the next process

	json_out_init(&out, buffer, length);
	json_out_open(&out, NULL, '{');
	json_out_address(&out, "src_ip", entry->key.initiator);
	json_out_address(&out, "dest_ip", entry->key.responder);
	json_out_u64(&out, "dest_port", entry->key.port);
	json_out_u64(&out, "proto", entry->key.l4_proto);
	json_out_string(&out, "mode", entry->key.mode == CACHE_PEER ? "peer" : "tuple");
	json_out_string(&out, "zone", entry->key.from_inside ? "inside" : "outside");
	put_realm(&out, entry->key.realm);
	if (line->app)
		json_out_string(&out, "app", line->app);
	if (line->rule)
		json_out_string(&out, "rule", line->rule);
	json_out_string(&out, "confidence", confidence_word(entry->confidence));
	if (entry->flags & CONN_ENTRY_OPERATOR)
		json_out_string(&out, "made", "by_hand");
	if (entry->flags & CONN_ENTRY_FIXED)
		json_out_string(&out, "end", "fixed");
	json_out_u64(&out, "created_ns", entry->created_ns);
	json_out_u64(&out, "expires_ns", entry->expires_ns);
	json_out_u64(&out, "hits", entry->hits);
	json_out_u64(&out, "saved_bytes", entry->saved_bytes);
	json_out_close(&out, '}');
	json_out_newline(&out);
	return out.full ? 0 : json_out_length(&out);
}

static bool get_address(const json_t *object, const char *key, uint8_t out[16])
{
	const char *text = json_string_value(json_object_get(object, key));

	if (!text)
		return false;
	memset(out, 0, 16);
	if (inet_pton(AF_INET, text, out + 12) == 1) {
		out[10] = out[11] = 0xff;
		return true;
	}
	return inet_pton(AF_INET6, text, out) == 1;
}

static bool get_number(const json_t *object, const char *key, uint64_t max, uint64_t *out)
{
	const json_t *value = json_object_get(object, key);
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < 0 || (uint64_t)number > max)
		return false;
	*out = (uint64_t)number;
	return true;
}

// One of two words.
static bool get_word(
	const json_t *object, const char *key, const char *no, const char *yes, bool *out)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (!text || (strcmp(text, no) && strcmp(text, yes)))
		return false;
	*out = !strcmp(text, yes);
	return true;
}

static bool is_word(const json_t *object, const char *key, const char *word)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text && !strcmp(text, word);
}

static bool get_confidence(const json_t *object, uint8_t *out)
{
	const char *text = json_string_value(json_object_get(object, "confidence"));

	for (unsigned i = 0; text && i <= CONFIDENCE_VERIFIED; i++) {
		if (!strcmp(text, confidence_word(i))) {
			*out = (uint8_t)i;
			return true;
		}
	}
	return false;
}

// Lines of versions before have the outermost tag alone.
static bool get_realm(const json_t *object, uint32_t *realm)
{
	static const struct parse_settings exact; // what is reported is never hashed
	uint64_t vlan = 0, inner = 0, session = 0;

	if ((json_object_get(object, "vlan") && !get_number(object, "vlan", 0xfff, &vlan)) ||
		(json_object_get(object, "inner_vlan") &&
			!get_number(object, "inner_vlan", 0xfff, &inner)) ||
		(json_object_get(object, "pppoe_session") &&
			!get_number(object, "pppoe_session", UINT16_MAX, &session)))
		return false;
	*realm = vlan ? realm_add_tag(&exact, 0, (uint16_t)vlan) : 0;
	if (inner)
		*realm = realm_add_tag(&exact, *realm, (uint16_t)inner);
	if (json_object_get(object, "pppoe_session"))
		*realm = realm_add_session(&exact, *realm, (uint16_t)session);
	return !(*realm & REALM_HASHED);
}

static bool get_key(const json_t *object, struct conn_key *key)
{
	uint64_t port, proto;
	bool peer, inside;

	if (!get_address(object, "src_ip", key->initiator) ||
		!get_address(object, "dest_ip", key->responder) ||
		!get_number(object, "dest_port", UINT16_MAX, &port) ||
		!get_number(object, "proto", UINT8_MAX, &proto) ||
		!get_word(object, "mode", "tuple", "peer", &peer) ||
		!get_word(object, "zone", "outside", "inside", &inside))
		return false;
	if (!get_realm(object, &key->realm))
		return false;
	key->mode = peer ? CACHE_PEER : CACHE_TUPLE;
	key->port = peer ? 0 : (uint16_t)port;
	key->l4_proto = peer ? 0 : (uint8_t)proto;
	key->from_inside = inside;
	return true;
}

static void take_line(struct cache_read *read, struct rule_names *names,
	const struct app_names *apps, uint64_t now_ns, const char *text, size_t length)
{
	json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
	const char *app = json_string_value(json_object_get(object, "app"));
	const char *rule = json_string_value(json_object_get(object, "rule"));
	struct conn_entry entry = {0};

	read->lines++;
	if (!get_key(object, &entry.key) || !get_confidence(object, &entry.confidence) ||
		!get_number(object, "created_ns", INT64_MAX, &entry.created_ns) ||
		!get_number(object, "expires_ns", INT64_MAX, &entry.expires_ns) ||
		!get_number(object, "hits", INT64_MAX, &entry.hits) ||
		!get_number(object, "saved_bytes", INT64_MAX, &entry.saved_bytes) ||
		(rule && strlen(rule) >= POLICY_ID_MAX)) {
		read->bad++;
	} else if (app && !app_names_find(apps, app)) {
		read->unknown++;
	} else if (entry.expires_ns > now_ns) {
		if (entry.created_ns > now_ns) // the clock was set back
			entry.created_ns = now_ns;
		entry.flags =
			(uint8_t)((is_word(object, "made", "by_hand") ? CONN_ENTRY_OPERATOR : 0) |
				  (is_word(object, "end", "fixed") ? CONN_ENTRY_FIXED : 0));
		entry.app = app ? app_names_find(apps, app) : APP_NONE;
		entry.rule_uid = rule ? rule_names_intern(names, rule) : 0;
		conn_list_add(&read->list, &entry);
	}
	json_decref(object);
}

int cache_file_read(const char *path, struct rule_names *names, const struct app_names *apps,
	uint64_t now_ns, struct cache_read *read)
{
	// Read before privileges are dropped, in a folder of the user without: a pipe there, or
	// what a link leads to, is none of ours.
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	FILE *file = NULL;
	char line[CACHE_LINE_MAX + 1];
	bool inside = false; // a line that is too long

	if (fd >= 0 && fstat(fd, &st) == 0) {
		errno = EINVAL;
		file = S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;
	}
	if (!file) {
		int error = errno;

		if (fd >= 0)
			close(fd);
		return error == ENOENT ? 0 : -error;
	}
	while (fgets(line, sizeof line, file)) {
		size_t length = strlen(line);
		bool whole = length && line[length - 1] == '\n';

		if (whole && !inside) {
			take_line(read, names, apps, now_ns, line, length);
		} else if (!inside) { // too long, torn at the end of the file, or with a NUL in it
			read->lines++;
			read->bad++;
		}
		inside = !whole;
	}
	int error = ferror(file) ? EIO : 0;

	fclose(file);
	return -error;
}

static int compare_ends(const void *a, const void *b)
{
	uint64_t x = ((const struct conn_entry *)a)->expires_ns;
	uint64_t y = ((const struct conn_entry *)b)->expires_ns;

	return x != y ? (x > y) - (x < y) : conn_list_compare_keys(a, b);
}

struct numbered { // qsort is not stable
	struct conn_entry entry;
	uint32_t number;
};

static int compare_numbered(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;
	int order = conn_list_compare_keys(&x->entry, &y->entry);

	return order ? order : (x->number > y->number) - (x->number < y->number);
}

void cache_read_settle(struct cache_read *read, uint32_t max)
{
	struct conn_list *list = &read->list;
	struct numbered *all = list->n ? calloc(list->n, sizeof *all) : NULL;
	uint32_t n = 0;

	if (!all) {
		list->no_memory |= list->n > 0;
		list->n = 0;
		return;
	}
	for (uint32_t i = 0; i < list->n; i++)
		all[i] = (struct numbered){.entry = list->entries[i], .number = i};
	qsort(all, list->n, sizeof *all, compare_numbered);
	for (uint32_t i = 0; i < list->n; i++) {
		if (i + 1 == list->n || conn_list_compare_keys(&all[i].entry, &all[i + 1].entry))
			list->entries[n++] = all[i].entry;
	}
	free(all);
	list->n = n;
	qsort(list->entries, n, sizeof list->entries[0], compare_ends);
	if (n > max) {
		memmove(list->entries, list->entries + (n - max), max * sizeof list->entries[0]);
		list->n = max;
	}
}

static int write_all(FILE *file, const struct cache_line *lines, size_t n)
{
	char text[CACHE_LINE_MAX];

	for (size_t i = 0; i < n; i++) {
		size_t length = cache_line_write(&lines[i], text, sizeof text);

		if (fwrite(text, 1, length, file) != length)
			return -errno;
	}
	if (fflush(file) || fsync(fileno(file)) < 0)
		return -errno;
	return 0;
}

// The new name is in the folder: that must be on the disk, too.
static int sync_folder(const char *path)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');

	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
		slash ? path : ".");
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 || fsync(fd) < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return rc;
}

int cache_file_write(const char *path, const struct cache_line *lines, size_t n)
{
	char tmp[PATH_MAX];

	if (snprintf(tmp, sizeof tmp, "%s.new", path) >= (int)sizeof tmp)
		return -ENAMETOOLONG;
	int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file) {
		int error = errno;

		if (fd >= 0)
			close(fd);
		return -error;
	}
	int rc = write_all(file, lines, n);

	if (fclose(file) && !rc)
		rc = -errno;
	if (!rc && rename(tmp, path) < 0)
		rc = -errno;
	if (rc) {
		unlink(tmp);
		return rc;
	}
	return sync_folder(path);
}
