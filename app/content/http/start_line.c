// SPDX-License-Identifier: BSD-3-Clause
// Reads the first line of a request or a response.
#include "content/http/start_line.h"

#include "content/charset.h"
#include "content/http/name.h"

#define METHOD_BYTES 32u // the longest that is registered has 17

bool http_request_line_goes_on(struct content_text line, uint8_t byte)
{
	// a line that has got beyond its method has a blank in it
	if (line.length > METHOD_BYTES)
		return true;
	for (uint32_t i = 0; i < line.length; i++)
		if (http_is_blank(line.bytes[i]))
			return true;
	return line.length && http_is_blank(byte)
		       ? true
		       : http_is_token(byte) && line.length < METHOD_BYTES;
}

// Shoutcast, NTRIP, and Gnutella 0.4: "HTTP 200 OK".
static const char *const other_versions[] = {"ICY ", "SOURCETABLE ", "HTTP "};

static bool goes_on_as(const char *begins, struct content_text line, uint8_t byte)
{
	uint32_t length = (uint32_t)strlen(begins);

	if (line.length && memcmp(line.bytes, begins, line.length < length ? line.length : length))
		return false;
	return line.length >= length || byte == (uint8_t)begins[line.length];
}

bool http_status_line_goes_on(struct content_text line, uint8_t byte, bool answers)
{
	if (goes_on_as("HTTP/1.", line, byte))
		return true;
	for (unsigned i = 0; answers && i < sizeof(other_versions) / sizeof(*other_versions); i++)
		if (goes_on_as(other_versions[i], line, byte))
			return true;
	return false;
}

// Only what answers a request gets so far (http_status_line_goes_on). The body ends with the
// connection, as after HTTP/1.0.
static bool is_other_version(struct content_text version)
{
	for (unsigned i = 0; i < sizeof(other_versions) / sizeof(*other_versions); i++)
		if (version.length == strlen(other_versions[i]) - 1 &&
			!memcmp(version.bytes, other_versions[i], version.length))
			return true;
	return false;
}

static struct content_text take_word(struct content_text *rest)
{
	struct content_text word = {rest->bytes, 0};

	while (word.length < rest->length && !http_is_blank(rest->bytes[word.length]))
		word.length++;
	*rest = http_trim(http_text_from(*rest, word.length));
	return word;
}

static enum http_method method_of(struct content_text word)
{
	static const struct {
		const char *word;
		enum http_method method;
	} methods[] = {{"GET", HTTP_METHOD_GET}, {"HEAD", HTTP_METHOD_HEAD},
		{"CONNECT", HTTP_METHOD_CONNECT}, {"PUT", HTTP_METHOD_PUT},
		{"PRI", HTTP_METHOD_PRI}};

	for (unsigned i = 0; i < sizeof(methods) / sizeof(*methods); i++)
		if (word.length == strlen(methods[i].word) &&
			!memcmp(word.bytes, methods[i].word, word.length))
			return methods[i].method;
	return HTTP_METHOD_OTHER;
}

// RFC 9112 section 3.2: of a target in absolute form, and of CONNECT, the authority. The path is
// what is left of *target.
static struct content_text authority_of(struct content_text *target, enum http_method method)
{
	struct content_text rest = *target, authority = {rest.bytes, 0};
	uint32_t colon = http_until(rest, ':');

	if (method == HTTP_METHOD_CONNECT) {
		target->length = 0;
		return rest;
	}
	if (rest.bytes[0] == '/' || colon + 2 >= rest.length || rest.bytes[colon + 1] != '/' ||
		rest.bytes[colon + 2] != '/')
		return authority;
	rest = http_text_from(rest, colon + 3);
	authority = rest;
	authority.length = 0;
	while (authority.length < rest.length && !strchr("/?#", rest.bytes[authority.length]))
		authority.length++;
	*target = http_text_from(rest, authority.length);
	// RFC 3986 section 3.2.1: userinfo
	while (http_until(authority, '@') < authority.length)
		authority = http_text_from(authority, http_until(authority, '@') + 1);
	return authority;
}

// Behind what is kept: in place of the line, which is written over.
static struct http_piece keep(struct http_head *head, const uint8_t *bytes, uint32_t length)
{
	memmove(head->text + head->kept, bytes, length);
	return http_head_keep(head, length);
}

// A request to a tracker may name many torrents: all of them count. Percent signs are undone, as by
// who reads them (app/pipeline/content/report_ids.c).
static bool names_torrents(struct content_text target)
{
	static const char name[] = "info_hash";
	unsigned seen = 0;

	for (uint32_t i = 0; i < target.length && name[seen]; i++) {
		uint8_t byte = target.bytes[i];
		int escaped = byte == '%' && target.length - i >= 3
				      ? text_hex_pair(target.bytes + i + 1)
				      : -1;

		if (escaped >= 0) {
			byte = (uint8_t)escaped;
			i += 2;
		}
		seen = byte == (uint8_t)name[seen] ? seen + 1 : byte == (uint8_t)name[0];
	}
	return !name[seen];
}

// Texts of the target that are kept, in the order in which they begin: where they overlap, a byte
// is kept once.
struct keeping {
	struct http_head *head;
	struct content_text target;
	uint32_t until; // nothing behind it is kept yet
};

static struct http_piece keep_part(struct keeping *keeping, struct content_text part)
{
	struct content_text target = keeping->target;
	uint32_t from = part.length ? (uint32_t)(part.bytes - target.bytes) : 0;
	uint32_t until = from + part.length;

	if (!part.length)
		return (struct http_piece){0};
	if (from > keeping->until)
		keeping->until = from;
	if (until > keeping->until) {
		keep(keeping->head, target.bytes + keeping->until, until - keeping->until);
		keeping->until = until;
	}
	return (struct http_piece){
		(uint16_t)(keeping->head->kept - (keeping->until - from)), (uint16_t)part.length};
}

// In the order of the line, which is written over: what is kept never gets ahead of what is not.
static void keep_target(struct http_head *head, struct content_text target)
{
	struct content_text authority = authority_of(&target, head->method);
	const struct http_path_names names = http_names_path(target);
	struct content_text name = names.segment.text, path = target;
	uint32_t most = names_torrents(target) ? HTTP_HASHES_BYTES : HTTP_PATH_BYTES;

	if (authority.length > HTTP_HOST_BYTES)
		authority.length = HTTP_HOST_BYTES;
	if (authority.length)
		head->authority = keep(head, authority.bytes, authority.length);
	if (path.length > most)
		path.length = most;
	// a path that is cut ends where the name begins
	uint32_t at = name.length ? (uint32_t)(name.bytes - target.bytes) : 0;

	if (at + name.length > path.length && path.length > at)
		path.length = at;
	struct keeping keeping = {.head = head, .target = target};

	head->path = keep_part(&keeping, path);
	head->path_bare = keep_part(&keeping, names.bare.text);
	head->path_name = keep_part(&keeping, name);
	head->path_query = keep_part(&keeping, names.query.text);
	head->path_name_cut = names.segment.cut;
}

static bool is_printable(struct content_text text)
{
	for (uint32_t i = 0; i < text.length; i++)
		if (text.bytes[i] <= ' ' || text.bytes[i] == 0x7f)
			return false;
	return true;
}

static bool is_token(struct content_text text)
{
	for (uint32_t i = 0; i < text.length; i++)
		if (!http_is_token(text.bytes[i]))
			return false;
	return text.length;
}

static struct content_text last_word(struct content_text words)
{
	struct content_text word = words;

	while (words.length)
		word = take_word(&words);
	return word;
}

// One blank stands between words, and nothing else around them.
static bool is_spaced(struct content_text line, struct content_text method,
	struct content_text target, struct content_text version)
{
	uint32_t behind = method.length + 1 + target.length;
	uint32_t length = version.length ? behind + 1 + version.length : behind;

	return line.length == length && line.bytes[method.length] == ' ' &&
	       (!version.length || line.bytes[behind] == ' ') && is_printable(target);
}

// RFC 1945 section 4.1: Simple-Request. What servers that know it (nginx, httpd, Python) send back
// to a line without a version, whatever its method, has no head; others answer with one. Python
// also takes the version for one of 0.9.
static void read_simple(struct http_head *head, struct content_text version)
{
	bool gets = head->method == HTTP_METHOD_GET;

	head->simple = gets && !version.length;
	head->bare = !version.length || (gets && http_is(version, "http/0.9"));
	head->bare &= head->method != HTTP_METHOD_HEAD && head->method != HTTP_METHOD_CONNECT;
}

// RFC 9112 section 3: method SP request-target SP HTTP-version. As it allows, other blanks between
// the words are taken for one, and noted; the target is the second word, the version the last. What
// older programs of Gnutella ask for ("/get/INDEX/NAME") has the blanks of the name in it.
enum http_line_form http_read_request_line(struct http_head *head)
{
	struct content_text line = http_head_line(head), rest = http_trim(line);
	struct content_text method = take_word(&rest), target = take_word(&rest), version;

	if (!is_token(method) || !target.length)
		return HTTP_LINE_BAD;
	version = last_word(rest);
	if (http_begins(target, "/get/") && http_begins(version, "http/"))
		target = http_trim((struct content_text){
			target.bytes, (uint32_t)(version.bytes - target.bytes)});
	head->method = (uint8_t)method_of(method);
	if (head->method == HTTP_METHOD_PRI && http_is(version, "http/2.0") && http_is(target, "*"))
		return HTTP_LINE_STRICT;
	bool one = version.length == 8 && !memcmp(version.bytes, "HTTP/1.", 7) &&
		   octets_digit(version.bytes[7]);

	head->minor_version = one ? (uint8_t)(version.bytes[7] - '0') : 0;
	read_simple(head, version);
	bool strict = (one || head->simple) && is_spaced(line, method, target, version);

	if (head->method == HTTP_METHOD_PRI)
		head->method = HTTP_METHOD_OTHER;
	head->verb = keep(head, method.bytes,
		method.length < CONTENT_METHOD_BYTES ? method.length : CONTENT_METHOD_BYTES);
	keep_target(head, target);
	return strict ? HTTP_LINE_STRICT : HTTP_LINE_LENIENT;
}

// RFC 9112 section 4: HTTP-version SP 3DIGIT SP [ reason ]. That the blank behind the status is
// missing where there is no reason changes nothing for anybody.
enum http_line_form http_read_status_line(struct http_head *head)
{
	struct content_text line = http_head_line(head), rest = line;
	struct content_text version = take_word(&rest), status = take_word(&rest);
	uint64_t number = 0;

	bool other = is_other_version(version);

	if ((!other && (version.length != 8 || memcmp(version.bytes, "HTTP/1.", 7) ||
			       !octets_digit(version.bytes[7]))) ||
		!http_number(status, &number) || status.length != 3 || number < 100)
		return HTTP_LINE_BAD;
	head->minor_version = other ? 0 : (uint8_t)(version.bytes[7] - '0');
	head->status = (uint16_t)number;
	const uint8_t *behind = version.bytes + version.length;
	uint32_t length = version.length + 1 + status.length;
	bool strict = version.bytes == line.bytes && !http_is(version, "http") && *behind == ' ' &&
		      status.bytes == behind + 1 &&
		      (line.length == length || line.bytes[length] == ' ');

	return strict ? HTTP_LINE_STRICT : HTTP_LINE_LENIENT;
}
