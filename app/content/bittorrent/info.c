// SPDX-License-Identifier: BSD-3-Clause
// Reads info dictionaries as libtorrent and Transmission do, and says where these, or others, would
// store other files: keys that come twice, paths that climb, lists of a hybrid that differ.
#include "content/bittorrent/info.h"

#include <string.h>
#include "content/memory.h"
#include "pipeline/vocab/bencode.h"

#define PAYLOAD_MAX     ((uint64_t)1 << 62)
#define PIECE_BYTES_MAX ((int64_t)1 << 31)
#define V2_PIECE_MIN    16384
#define SHA1_BYTES      20

// Values of a dictionary that are looked at, by key.
struct wanted {
	const char *key;
	struct bencode value;
	bool is_there;
};

// A component of a path.
struct part {
	const uint8_t *at;
	uint32_t length;
};

struct path {
	struct part parts[INFO_DEPTH_MAX];
	unsigned n;
};

struct file_found {
	const struct path *path;
	struct part alias; // length 0: none
	uint64_t size;
	bool padding;
};

struct reader {
	struct info_measure measure; // so far
	// NULL: it is measured.
	struct torrent_file *files;
	uint8_t *texts;
	bool compares; // files are compared with those that are built: a hybrid's second list
	uint32_t compared;
	enum torrent_learned why; // it cannot be read
};

static bool fail(struct reader *reader, enum torrent_learned why)
{
	reader->why = why;
	return false;
}

// Of a dictionary, which the cursor passes.
static bool read_keys(struct reader *reader, struct bencode *in, struct wanted *wanted, unsigned n)
{
	const uint8_t *key;
	uint32_t length;

	if (in->at == in->end || *in->at++ != 'd')
		return fail(reader, TORRENT_BROKEN);
	while (bencode_key(in, &key, &length)) {
		for (unsigned i = 0; i < n; i++) {
			if (strlen(wanted[i].key) != length || memcmp(wanted[i].key, key, length))
				continue;
			// some programs take the first one, others the last
			reader->measure.ambiguous |= wanted[i].is_there;
			if (!wanted[i].is_there)
				wanted[i].value = *in;
			wanted[i].is_there = true;
		}
		if (!bencode_skip(in))
			return fail(reader, TORRENT_BROKEN);
	}
	if (in->at == in->end || *in->at++ != 'e')
		return fail(reader, TORRENT_BROKEN);
	return true;
}

static bool text_of(const struct wanted *wanted, struct part *text)
{
	struct bencode in = wanted->value;

	*text = (struct part){NULL, 0};
	return wanted->is_there && bencode_string(&in, &text->at, &text->length);
}

static bool number_of(const struct wanted *wanted, int64_t *number)
{
	struct bencode in = wanted->value;

	return wanted->is_there && bencode_number(&in, number);
}

static bool same_part(struct part a, struct part b)
{
	return a.length == b.length && (!a.length || !memcmp(a.at, b.at, a.length));
}

// ---- texts ----

static void put(struct reader *reader, const uint8_t *bytes, uint32_t length)
{
	if (reader->texts && length)
		memcpy(reader->texts + reader->measure.text_bytes, bytes, length);
	reader->measure.text_bytes += length;
}

// Programs leave out or replace what cannot stand in a name, each in its own way.
static bool is_odd(struct part part)
{
	bool odd = !part.length || memchr(part.at, '/', part.length) ||
		   memchr(part.at, '\\', part.length) || memchr(part.at, '\0', part.length);

	return odd ||
	       (part.at[0] == '.' && (part.length == 1 || (part.length == 2 && part.at[1] == '.')));
}

static void put_part(struct reader *reader, struct part part)
{
	uint32_t from = reader->measure.text_bytes;

	if (part.length > TORRENT_PATH_MAX) {
		part.at += part.length - TORRENT_PATH_MAX;
		part.length = TORRENT_PATH_MAX;
	}
	put(reader, part.at, part.length);
	for (uint32_t i = 0; reader->texts && i < part.length; i++) {
		uint8_t *at = &reader->texts[from + i];

		if (*at == '/' || *at == '\\' || !*at)
			*at = '_';
	}
}

static uint64_t path_bytes(const struct path *path)
{
	uint64_t bytes = path->n ? path->n - 1 : 0;

	for (unsigned i = 0; i < path->n; i++)
		bytes += path->parts[i].length;
	return bytes;
}

// False: it was longer, and its last component alone is there.
static bool put_path(struct reader *reader, const struct path *path)
{
	bool fits = path_bytes(path) <= TORRENT_PATH_MAX;

	for (unsigned i = fits || !path->n ? 0 : path->n - 1; i < path->n; i++) {
		put_part(reader, path->parts[i]);
		if (i + 1 < path->n)
			put(reader, (const uint8_t *)"/", 1);
	}
	return fits;
}

// ---- files ----

static bool add_file(struct reader *reader, const struct file_found *found)
{
	struct info_measure *measure = &reader->measure;
	struct torrent_file file = {
		.from = measure->size, .size = found->size, .padding = found->padding};

	if (found->size > PAYLOAD_MAX - measure->size)
		return fail(reader, TORRENT_BROKEN);
	if (!found->padding) { // of which nobody asks the name
		file.name = measure->text_bytes;
		file.cut = !put_path(reader, found->path);
		file.name_length = measure->text_bytes - file.name;
		file.alias = measure->text_bytes;
		put_part(reader, found->alias);
		file.alias_length = measure->text_bytes - file.alias;
	}
	if (reader->files)
		reader->files[measure->n_files] = file;
	measure->n_files++;
	measure->size += found->size;
	if (info_bytes(measure) > CONTENT_BLOCK_MAX)
		return fail(reader, TORRENT_TOO_BIG);
	return true;
}

static const struct torrent_file *next_built(struct reader *reader)
{
	while (reader->compared < reader->measure.n_files &&
		reader->files[reader->compared].padding)
		reader->compared++;
	return reader->compared < reader->measure.n_files ? &reader->files[reader->compared++]
							  : NULL;
}

// The next file of the list that is built: the same path and size at the beginning of a piece, else
// programs that go by the one list and by the other store different files.
static bool is_next_built(struct reader *reader, const struct file_found *found)
{
	const struct torrent_file *file = next_built(reader);
	uint8_t texts[TORRENT_PATH_MAX + 1];
	struct reader scratch = {.texts = texts};

	if (!file || file->size != found->size ||
		(file->size && file->from % reader->measure.piece_bytes))
		return false;
	put_path(&scratch, found->path);
	return file->name_length == scratch.measure.text_bytes &&
	       !memcmp(reader->texts + file->name, texts, file->name_length);
}

// Of a second list nothing is read behind the first difference.
static bool take_file(struct reader *reader, const struct file_found *found)
{
	return reader->compares ? is_next_built(reader, found) : add_file(reader, found);
}

static bool has_letter(struct part text, uint8_t letter)
{
	return text.length && memchr(text.at, letter, text.length);
}

// ---- version 1: "length", or "files" ----

static bool read_path(struct reader *reader, struct bencode in, struct path *path)
{
	path->n = 0;
	if (in.at == in.end || *in.at++ != 'l')
		return fail(reader, TORRENT_BROKEN);
	while (in.at < in.end && *in.at != 'e') {
		if (path->n == INFO_DEPTH_MAX)
			return fail(reader, TORRENT_TOO_BIG);
		struct part *part = &path->parts[path->n++];

		if (!bencode_string(&in, &part->at, &part->length))
			return fail(reader, TORRENT_BROKEN);
		reader->measure.ambiguous |= is_odd(*part);
	}
	reader->measure.ambiguous |= !path->n;
	return in.at < in.end || fail(reader, TORRENT_BROKEN);
}

// Of two lists the second one's last component, where they differ.
static bool read_alias(
	struct reader *reader, struct bencode in, const struct path *path, struct part *alias)
{
	struct path other;

	if (!read_path(reader, in, &other))
		return false;
	if (path->n && other.n && !same_part(path->parts[path->n - 1], other.parts[other.n - 1]))
		*alias = other.parts[other.n - 1];
	return true;
}

static bool read_file(struct reader *reader, struct bencode *in, struct path *path)
{
	enum { LENGTH, PATH, UTF8, ATTR, KEYS };
	struct wanted keys[KEYS] = {
		{.key = "length"}, {.key = "path"}, {.key = "path.utf-8"}, {.key = "attr"}};
	struct file_found found = {.path = path};
	struct part attr;
	int64_t size = 0;

	if (!read_keys(reader, in, keys, KEYS))
		return false;
	if (!keys[PATH].is_there && !keys[UTF8].is_there)
		return fail(reader, TORRENT_BROKEN);
	if (!read_path(reader, keys[keys[UTF8].is_there ? UTF8 : PATH].value, path))
		return false;
	if (keys[PATH].is_there && keys[UTF8].is_there &&
		!read_alias(reader, keys[PATH].value, path, &found.alias))
		return false;
	text_of(&keys[ATTR], &attr);
	bool link = has_letter(attr, 'l');

	if ((!number_of(&keys[LENGTH], &size) && !link) || size < 0)
		return fail(reader, TORRENT_BROKEN);
	// libtorrent gives links no bytes, others what the length says
	reader->measure.ambiguous |= link && size;
	found.size = (uint64_t)size;
	found.padding = has_letter(attr, 'p');
	return take_file(reader, &found);
}

static bool read_files(struct reader *reader, struct bencode in, struct path *path)
{
	if (*in.at++ != 'l')
		return fail(reader, TORRENT_BROKEN);
	while (in.at < in.end && *in.at == 'd')
		if (!read_file(reader, &in, path))
			return false;
	return (in.at < in.end && *in.at == 'e' && reader->measure.n_files) ||
	       fail(reader, TORRENT_BROKEN);
}

static bool read_single(struct reader *reader, struct part name, struct part alias,
	const struct wanted *length, struct path *path)
{
	struct file_found found = {.path = path, .alias = alias};
	int64_t size;

	if (!number_of(length, &size) || size < 0)
		return fail(reader, TORRENT_BROKEN);
	path->n = name.length != 0;
	path->parts[0] = name;
	reader->measure.ambiguous |= name.length && is_odd(name);
	found.size = (uint64_t)size;
	return take_file(reader, &found);
}

// ---- version 2: "file tree" ----

static bool read_leaf(struct reader *reader, struct bencode *in, const struct path *path)
{
	enum { LENGTH, ATTR, KEYS };
	struct wanted keys[KEYS] = {{.key = "length"}, {.key = "attr"}};
	struct file_found found = {.path = path};
	uint64_t piece = reader->measure.piece_bytes;
	struct part attr;
	int64_t size = 0;

	if (!read_keys(reader, in, keys, KEYS))
		return false;
	text_of(&keys[ATTR], &attr);
	if ((!number_of(&keys[LENGTH], &size) && !has_letter(attr, 'l')) || size < 0 ||
		(uint64_t)size > PAYLOAD_MAX)
		return fail(reader, TORRENT_BROKEN);
	found.size = (uint64_t)size;
	if (size && !reader->compares) // each file begins a piece
		reader->measure.size = (reader->measure.size + piece - 1) / piece * piece;
	return take_file(reader, &found);
}

// Keys rise in a dictionary. Where they do not, programs differ in the order of files.
static void take_order(struct reader *reader, struct part *last, struct part key)
{
	uint32_t least = last->length < key.length ? last->length : key.length;
	int order = !last->at ? -1 : least ? memcmp(last->at, key.at, least) : 0;

	if (order > 0 || (!order && last->length >= key.length))
		reader->measure.ambiguous = true;
	*last = key;
}

// In one pass, without recursion: `path` is where it is.
static bool read_tree(struct reader *reader, struct bencode in, struct path *path)
{
	struct part last[INFO_DEPTH_MAX + 1] = {{NULL, 0}};

	path->n = 0;
	if (in.at == in.end || *in.at++ != 'd')
		return fail(reader, TORRENT_BROKEN);
	while (in.at < in.end) {
		struct part key;

		if (*in.at == 'e') {
			in.at++;
			if (!path->n--)
				return true;
			continue;
		}
		if (!bencode_string(&in, &key.at, &key.length) || in.at == in.end || *in.at != 'd')
			return fail(reader, TORRENT_BROKEN);
		// a file that is a folder, too
		reader->measure.ambiguous |= last[path->n].at && !last[path->n].length;
		take_order(reader, &last[path->n], key);
		if (!key.length) {
			if (!path->n)
				return fail(reader, TORRENT_BROKEN);
			if (!read_leaf(reader, &in, path))
				return false;
			continue;
		}
		if (path->n == INFO_DEPTH_MAX)
			return fail(reader, TORRENT_TOO_BIG);
		path->parts[path->n++] = key;
		reader->measure.ambiguous |= is_odd(key);
		last[path->n] = (struct part){NULL, 0};
		in.at++;
	}
	return fail(reader, TORRENT_BROKEN);
}

// ---- the dictionary ----

enum { NAME, NAME_UTF8, LENGTH, FILES, PIECE_LENGTH, PIECES, FILE_TREE, META_VERSION, INFO_KEYS };

static bool read_pieces(struct reader *reader, const struct wanted *keys)
{
	struct info_measure *measure = &reader->measure;
	int64_t bytes = 0, version = 1;
	struct part pieces;

	if (!number_of(&keys[PIECE_LENGTH], &bytes) || bytes <= 0 || bytes > PIECE_BYTES_MAX)
		return fail(reader, TORRENT_BROKEN);
	if (keys[META_VERSION].is_there && !number_of(&keys[META_VERSION], &version))
		return fail(reader, TORRENT_BROKEN);
	measure->piece_bytes = (uint64_t)bytes;
	measure->v2 = version == 2 && keys[FILE_TREE].is_there;
	measure->v1 = text_of(&keys[PIECES], &pieces);
	// libtorrent refuses a torrent of a later version, others take its first one
	reader->measure.ambiguous |= version != 1 && !measure->v2;
	if (!measure->v1 && !measure->v2)
		return fail(reader, TORRENT_BROKEN);
	if (measure->v2 && (bytes < V2_PIECE_MIN || bytes & (bytes - 1)))
		return fail(reader, TORRENT_BROKEN);
	measure->n_pieces = measure->v1 ? pieces.length / SHA1_BYTES : 0;
	return !measure->v1 || pieces.length % SHA1_BYTES == 0 || fail(reader, TORRENT_BROKEN);
}

// Of names of either key the one of UTF-8 is what most go by.
static void read_names(const struct wanted *keys, struct part *name, struct part *alias)
{
	struct part utf8;

	text_of(&keys[NAME], name);
	*alias = (struct part){NULL, 0};
	if (!text_of(&keys[NAME_UTF8], &utf8) || !utf8.length)
		return;
	if (name->length && !same_part(*name, utf8))
		*alias = *name;
	*name = utf8;
}

static bool read_lists(
	struct reader *reader, const struct wanted *keys, struct part name, struct part alias)
{
	struct info_measure *measure = &reader->measure;
	struct path path;

	if (!measure->v1)
		return read_tree(reader, keys[FILE_TREE].value, &path);
	measure->ambiguous |= keys[FILES].is_there && keys[LENGTH].is_there;
	if (keys[FILES].is_there ? !read_files(reader, keys[FILES].value, &path)
				 : !read_single(reader, name, alias, &keys[LENGTH], &path))
		return false;
	if ((measure->size + measure->piece_bytes - 1) / measure->piece_bytes != measure->n_pieces)
		return fail(reader, TORRENT_BROKEN);
	if (!measure->v2 || !reader->files)
		return true;
	reader->compares = true;
	if (!read_tree(reader, keys[FILE_TREE].value, &path) || next_built(reader))
		measure->ambiguous = true;
	return true;
}

static bool read_info(struct reader *reader, const uint8_t *info, uint32_t length,
	struct wanted *keys, struct part *folder)
{
	struct bencode in = {info, info + length};
	struct part name, alias;

	if (length > TORRENT_INFO_MAX)
		return fail(reader, TORRENT_TOO_BIG);
	if (!read_keys(reader, &in, keys, INFO_KEYS))
		return false;
	reader->measure.ambiguous |= in.at != in.end;
	read_names(keys, &name, &alias);
	if (!read_pieces(reader, keys))
		return false;
	*folder = (struct part){NULL, 0};
	if (keys[FILES].is_there || !reader->measure.v1) {
		*folder = name;
		reader->measure.ambiguous |= name.length && is_odd(name);
		put_part(reader, name);
	}
	return read_lists(reader, keys, name, alias);
}

#define INFO_KEY_NAMES                                                                        \
	{                                                                                     \
		[NAME] = {.key = "name"}, [NAME_UTF8] = {.key = "name.utf-8"},                \
		[LENGTH] = {.key = "length"}, [FILES] = {.key = "files"},                     \
		[PIECE_LENGTH] = {.key = "piece length"}, [PIECES] = {.key = "pieces"},       \
		[FILE_TREE] = {.key = "file tree"}, [META_VERSION] = {.key = "meta version"}, \
	}

enum torrent_learned info_measure(
	const uint8_t *info, uint32_t length, struct info_measure *measure)
{
	struct wanted keys[INFO_KEYS] = INFO_KEY_NAMES;
	struct reader reader = {.why = TORRENT_BROKEN};
	struct part folder;
	bool read = read_info(&reader, info, length, keys, &folder);

	*measure = reader.measure;
	return read ? TORRENT_LEARNED : reader.why;
}

size_t info_bytes(const struct info_measure *measure)
{
	return sizeof(struct torrent) + measure->n_files * sizeof(struct torrent_file) +
	       (size_t)measure->n_pieces * SHA1_BYTES + measure->text_bytes;
}

struct torrent *info_build(
	const uint8_t *info, uint32_t length, const struct info_measure *measure, void *block)
{
	struct wanted keys[INFO_KEYS] = INFO_KEY_NAMES;
	struct torrent *torrent = block;
	struct torrent_file *files = (struct torrent_file *)(torrent + 1);
	uint8_t *pieces = (uint8_t *)(files + measure->n_files);
	struct reader reader = {
		.files = files, .texts = pieces + (size_t)measure->n_pieces * SHA1_BYTES};
	struct part folder, digests;

	read_info(&reader, info, length, keys, &folder);
	*torrent = (struct torrent){
		.size = measure->size,
		.piece_bytes = measure->piece_bytes,
		.n_pieces = measure->n_pieces,
		.n_files = measure->n_files,
		.files = files,
		.texts = reader.texts,
		.ambiguous = reader.measure.ambiguous,
		.folder_length =
			folder.length > TORRENT_PATH_MAX ? TORRENT_PATH_MAX : folder.length,
	};
	if (text_of(&keys[PIECES], &digests) && measure->n_pieces) {
		memcpy(pieces, digests.at, (size_t)measure->n_pieces * SHA1_BYTES);
		torrent->pieces = pieces;
	}
	return torrent;
}
