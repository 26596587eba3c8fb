// SPDX-License-Identifier: BSD-3-Clause
// A table of marks in sets of eight: work for a mark is bounded, and the oldest of its set goes.
#include "pipeline/content/refused.h"

#include <string.h>
#include "content/charset.h"
#include "content/content_id.h"
#include "pipeline/flow/table.h"
#include "pipeline/lcore/hints.h"
#include "pipeline/vocab/octets.h"
#include "pipeline/vocab/pages.h"

#define WAYS       8u
#define MARKS      4u // slots for a file: three marks or so, and room for sets that differ
#define PATH_BYTES 1200u

struct refused_files {
	uint64_t ttl_ns;
	uint64_t last_ns; // when the youngest entry ends
	uint32_t sets;    // a power of two
	struct refused_slot slots[];
};

static size_t bytes_of(uint32_t sets)
{
	return sizeof(struct refused_files) + (size_t)sets * WAYS * sizeof(struct refused_slot);
}

struct refused_files *refused_files_new(uint32_t files, uint32_t ttl_s, int socket)
{
	struct refused_files *refused;
	uint32_t sets = 1;

	while (sets * WAYS < files * MARKS)
		sets *= 2;
	refused = pages_new(bytes_of(sets), socket);
	if (!refused)
		return NULL;
	refused->ttl_ns = ttl_s * NS_PER_S;
	refused->sets = sets;
	return refused;
}

void refused_files_free(struct refused_files *refused)
{
	if (refused)
		munmap(refused, bytes_of(refused->sets));
}

bool refused_files_are_empty(const struct refused_files *refused, uint64_t now_ns)
{
	return now_ns >= refused->last_ns;
}

// ---- marks ----

enum mark_kind { MARK_PATH = 1, MARK_NAME, MARK_VALIDATOR, MARK_ID, MARK_DIGEST };

static uint64_t mix(const struct hash_seed *seed, uint64_t hash, uint64_t a, uint64_t b)
{
	return hash_fold(hash ^ seed->words[0] ^ a, seed->words[1] ^ b);
}

static uint64_t mix_text(const struct hash_seed *seed, uint64_t hash, struct content_text text)
{
	uint64_t words[2];

	hash = mix(seed, hash, text.length, seed->words[2]);
	for (uint32_t at = 0; at < text.length; at += sizeof(words)) {
		uint32_t here = text.length - at < sizeof(words) ? text.length - at : sizeof(words);

		memset(words, 0, sizeof(words));
		memcpy(words, text.bytes + at, here);
		hash = mix(seed, hash, words[0], words[1]);
	}
	return hash;
}

// Of one sender: the end that sends the file.
static uint64_t mix_sender(const struct lcore *lcore, uint32_t ref, unsigned half, unsigned kind)
{
	const struct flow_cold *cold = flow_cold_at(lcore->flows, ref);
	uint64_t words[2];

	memcpy(words, cold->ends.address[half & 1], sizeof(words));
	return mix(&lcore->parse.seed,
		mix(&lcore->parse.seed, kind, cold->realm, lcore->parse.seed.words[3]), words[0],
		words[1]);
}

static uint64_t settle(uint64_t mark)
{
	return mark ? mark : 1;
}

// Behind the last component of what is written so far: "/a/b" -> "/a/".
static uint32_t parent(const uint8_t *bytes, uint32_t length)
{
	while (length && bytes[length - 1] != '/')
		length--;
	return length;
}

// The component that ends here, "." or "..", goes (RFC 3986 section 5.2.4).
static uint32_t dots(const uint8_t *bytes, uint32_t length)
{
	uint32_t from = parent(bytes, length);

	if (length - from == 1 && bytes[from] == '.')
		return from;
	if (length - from == 2 && bytes[from] == '.' && bytes[from + 1] == '.')
		return from ? parent(bytes, from - 1) : 0;
	return length;
}

// One form for paths that servers take for the same: percent escapes undone, letters in lower case,
// "//", "." and ".." resolved, no fragment. What follows '?' stays as it is.
static struct content_text canonical(struct content_text path, uint8_t *form, uint32_t room)
{
	uint32_t n = 0, i = 0;

	for (; i < path.length && n < room && path.bytes[i] != '?' && path.bytes[i] != '#'; i++) {
		uint8_t byte = path.bytes[i];
		int escaped = byte == '%' && path.length - i >= 3
				      ? text_hex_pair(path.bytes + i + 1)
				      : -1;

		if (escaped >= 0) {
			byte = (uint8_t)escaped;
			i += 2;
		}
		if (byte == '\\')
			byte = '/';
		if (byte == '/') {
			n = dots(form, n);
			if (n && form[n - 1] == '/')
				continue;
		}
		form[n++] = octets_lower(byte);
	}
	n = dots(form, n);
	for (; i < path.length && n < room && path.bytes[i] != '#'; i++)
		form[n++] = path.bytes[i];
	return (struct content_text){form, n};
}

static struct content_text without_query(struct content_text path)
{
	const uint8_t *query = memchr(path.bytes, '?', path.length);

	return (struct content_text){
		path.bytes, query ? (uint32_t)(query - path.bytes) : path.length};
}

// A name of DNS is the same in either case, and with a dot at its end.
static struct content_text host_of(struct content_text host, uint8_t *form, uint32_t room)
{
	uint32_t n = 0;

	for (; n < host.length && n < room; n++)
		form[n] = octets_lower(host.bytes[n]);
	if (n && form[n - 1] == '.')
		n--;
	return (struct content_text){form, n};
}

// A path of a command, of which a label may have kept the end alone: no more of it counts, so that
// the command and the flow that brings the file agree.
static struct content_text command_path(const struct content_file *file, uint8_t *bytes)
{
	const uint32_t most = TRANSFER_FILE_BYTES - 1;
	uint32_t name = file->name.length < most ? file->name.length : most;
	uint32_t folder = file->path.length < most - name ? file->path.length : most - name;

	if (folder)
		memcpy(bytes, file->path.bytes + file->path.length - folder, folder);
	if (name)
		memcpy(bytes + folder, file->name.bytes + file->name.length - name, name);
	return (struct content_text){bytes, folder + name};
}

// The id that a request names its file by: "/uri-res/N2R?URN", or N2X. False: it names none.
static bool named_id(struct content_text path, struct content_id *id)
{
	static const char *const before[] = {"/uri-res/N2R?", "/uri-res/N2X?"};
	struct content_id ids[CONTENT_ID_LINK_IDS];
	const char *why;

	for (unsigned i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		uint32_t n = (uint32_t)strlen(before[i]);

		if (path.length <= n || memcmp(path.bytes, before[i], n) != 0 ||
			content_id_parse(
				(const char *)path.bytes + n, path.length - n, ids, &why) != 1)
			continue;
		*id = content_id_key(&ids[0]);
		return true;
	}
	return false;
}

// The id of the whole file, as its protocol names it. A torrent's is not one of its files'.
static bool whole_id(const struct content_file *file, struct content_id *id)
{
	if (!file->whole)
		return false;
	*id = content_id_key(&file->whole->id);
	return id->kind != CONTENT_ID_BTIH;
}

static uint64_t mix_id(const struct hash_seed *seed, uint64_t hash, const struct content_id *id)
{
	return mix_text(seed, mix(seed, hash, id->kind, seed->words[5]),
		(struct content_text){id->bytes, content_id_length(id)});
}

// Of an id that is proven, whoever names it.
static uint64_t digest_mark(const struct lcore *lcore, const struct content_id *id)
{
	const struct content_id key = content_id_key(id);

	return settle(mix_id(&lcore->parse.seed, MARK_DIGEST, &key));
}

struct refused_marks refused_marks_of_id(const struct lcore *lcore, const struct content_id *id)
{
	return (struct refused_marks){.digest = digest_mark(lcore, id)};
}

struct refused_marks refused_marks_of(
	const struct lcore *lcore, uint32_t ref, const struct content_file *file)
{
	const struct hash_seed *seed = &lcore->parse.seed;
	uint8_t form[PATH_BYTES], host_form[256], command[TRANSFER_FILE_BYTES];
	struct content_text host = host_of(file->host, host_form, sizeof(host_form));
	struct content_text path = file->path;
	struct refused_marks marks = {0};
	bool by_command = file->name_source == CONTENT_NAME_COMMAND;

	if (by_command)
		path = command_path(file, command);
	if ((file->by_path || by_command) && path.length) {
		path = canonical(path, form, sizeof(form));
		marks.path = settle(mix_text(seed,
			mix_text(seed, mix_sender(lcore, ref, file->half, MARK_PATH), host), path));
	}
	if (by_command && path.length) {
		uint32_t from = parent(path.bytes, path.length);
		struct content_text name = {path.bytes + from, path.length - from};

		marks.name =
			settle(mix_text(seed, mix_sender(lcore, ref, file->half, MARK_NAME), name));
	}
	struct content_id id;

	if (named_id(file->path, &id) || whole_id(file, &id)) {
		marks.id = settle(mix_id(seed, mix_sender(lcore, ref, file->half, MARK_ID), &id));
		marks.digest = digest_mark(lcore, &id);
	} else if (file->whole) {
		marks.digest = digest_mark(lcore, &file->whole->id);
	}
	// files that were unpacked together often have one time, and if one size one ETag, too
	if (file->by_path && path.length && file->validator.length > 2 &&
		file->validator.bytes[0] == '"' && file->size != CONTENT_SIZE_UNKNOWN) {
		uint64_t mark = mix_sender(lcore, ref, file->half, MARK_VALIDATOR);

		mark = mix_text(seed, mix_text(seed, mark, host), without_query(path));
		mark = mix_text(seed, mark, file->validator);
		marks.validator = settle(mix(seed, mark, file->size, seed->words[4]));
	}
	return marks;
}

// ---- the table ----

// The first slot of its set.
static size_t set_of(const struct refused_files *refused, uint64_t mark)
{
	return (size_t)((mark >> 32) & (refused->sets - 1)) * WAYS;
}

static const struct refused_slot *find(
	const struct refused_files *refused, uint64_t mark, uint64_t now_ns)
{
	const struct refused_slot *set = &refused->slots[set_of(refused, mark)];

	for (unsigned i = 0; mark && i < WAYS; i++)
		if (set[i].mark == mark && now_ns < set[i].expires_ns)
			return &set[i];
	return NULL;
}

static void put(struct lcore *lcore, struct refused_files *refused, uint64_t mark,
	const struct refused_file *file)
{
	struct refused_slot *set = &refused->slots[set_of(refused, mark)], *slot = set;

	if (!mark)
		return;
	for (unsigned i = 0; i < WAYS; i++) {
		if (set[i].mark == mark) {
			slot = &set[i];
			break;
		}
		if (set[i].expires_ns < slot->expires_ns)
			slot = &set[i];
	}
	if (slot->mark != mark && lcore->now_ns < slot->expires_ns)
		lcore->stats.refused_files_evicted++;
	*slot = (struct refused_slot){.mark = mark,
		.expires_ns = file->expires_ns,
		.rule_uid = file->rule_uid,
		.action = file->action};
}

void refused_files_hint(
	struct lcore *lcore, struct refused_files *refused, const struct refused_file *file)
{
	if (file->expires_ns <= lcore->now_ns)
		return;
	put(lcore, refused, file->marks.path, file);
	put(lcore, refused, file->marks.name, file);
	put(lcore, refused, file->marks.validator, file);
	put(lcore, refused, file->marks.id, file);
	put(lcore, refused, file->marks.digest, file);
	if (file->expires_ns > refused->last_ns)
		refused->last_ns = file->expires_ns;
}

static void learn(struct lcore *lcore, struct refused_files *refused, struct refused_file *file)
{
	file->expires_ns = lcore->now_ns + refused->ttl_ns;
	refused_files_hint(lcore, refused, file);
	hints_broadcast(lcore, HINT_REFUSED_FILE, file, sizeof(*file), true);
}

void refused_files_learn(struct lcore *lcore, struct refused_files *refused,
	const struct refused_marks *marks, uint32_t rule_uid, uint8_t action)
{
	struct refused_file file = {.marks = *marks, .rule_uid = rule_uid, .action = action};

	file.marks.digest = 0; // what a request says of bytes is nobody else's matter
	if (!marks->path && !marks->name && !marks->validator && !marks->id)
		return;
	lcore->stats.refused_files_learned++;
	learn(lcore, refused, &file);
}

void refused_files_learn_digests(struct lcore *lcore, struct refused_files *refused,
	const uint8_t sha1[20], const uint8_t sha256[32], uint32_t rule_uid, uint8_t action)
{
	const struct content_id ids[] = {
		content_id_of(CONTENT_ID_SHA1, sha1), content_id_of(CONTENT_ID_SHA256, sha256)};

	for (unsigned i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		refused_files_learn_id(lcore, refused, &ids[i], rule_uid, action);
}

void refused_files_learn_id(struct lcore *lcore, struct refused_files *refused,
	const struct content_id *id, uint32_t rule_uid, uint8_t action)
{
	struct refused_file file = {
		.marks = refused_marks_of_id(lcore, id), .rule_uid = rule_uid, .action = action};

	learn(lcore, refused, &file);
}

const struct refused_slot *refused_files_find(const struct lcore *lcore,
	const struct refused_files *refused, const struct refused_marks *marks, bool partial)
{
	const struct refused_slot *slot = find(refused, marks->validator, lcore->now_ns);

	if (!slot)
		slot = find(refused, marks->digest, lcore->now_ns);
	if (!slot)
		slot = find(refused, marks->id, lcore->now_ns);
	if (!slot && partial)
		slot = find(refused, marks->path, lcore->now_ns);
	if (!slot && partial)
		slot = find(refused, marks->name, lcore->now_ns);
	return slot;
}
