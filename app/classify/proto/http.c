// SPDX-License-Identifier: BSD-3-Clause
// HTTP/0.9 to 1.1: RFC 1945, RFC 9110, RFC 9112. HTTP carries other applications, which have
// signatures of their own: until the request's header is here in full the answer is "partial",
// so that a header that is split over packets can still name another.
#include "classify/app_proto.h"
#include "classify/text.h"

// The registered methods that are seen (RFC 9110 9, WebDAV RFC 4918, UPnP, IPP and proxies).
static const char *const methods[] = {"GET", "POST", "HEAD", "PUT", "OPTIONS", "DELETE", "CONNECT",
	"TRACE", "PATCH", "PROPFIND", "PROPPATCH", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK",
	"REPORT", "SEARCH", "M-SEARCH", "NOTIFY", "SUBSCRIBE", "UNSUBSCRIBE", "MERGE", "CHECKOUT",
	"CHECKIN", "MKACTIVITY", "BITS_POST", "CCM_POST", "PURGE", "LINK", "UNLINK", "REBIND",
	"BASELINE-CONTROL", "VERSION-CONTROL", "RPC_IN_DATA", "RPC_OUT_DATA", "DESCRIBE_PROXY",
	NULL};

// RFC 9110 5.6.2: token = 1*tchar
static bool is_token(struct text word)
{
	if (!word.length || word.length > 64)
		return false;
	for (uint32_t i = 0; i < word.length; i++)
		if (!word.at[i] || (!text_is_letter(word.at[i]) && !octets_digit(word.at[i]) &&
					   !strchr("!#$%&'*+-.^_`|~", word.at[i])))
			return false;
	return true;
}

// HTTP/1.0, HTTP/1.1; "HTTP/1." has been seen, and is answered with an error in HTTP.
static bool is_version(struct text word)
{
	return text_begins(word, "HTTP/1.") || text_is(word, "HTTP/0.9");
}

// RFC 9112 3.2.3: a host and a port, of RFC 3986's characters. NATS has a CONNECT, too, which JSON
// follows: '{', '"'.
static bool is_authority(struct text word)
{
	for (uint32_t i = 0; i < word.length; i++)
		if (!word.at[i] || (!text_is_letter(word.at[i]) && !octets_digit(word.at[i]) &&
					   !strchr("-._~%!$&'()*+,;=[]:@/", word.at[i])))
			return false;
	return true;
}

// RFC 9112 3.2: origin form, asterisk form, absolute form; authority form for CONNECT.
static bool is_target(struct text method, struct text word)
{
	if (!word.length)
		return false;
	if (text_is(method, "CONNECT"))
		return is_authority(word) &&
		       (text_contains_byte(word, ':') || text_contains_byte(word, '.'));
	return word.at[0] == '/' || text_is(word, "*") || text_contains(word, "://");
}

// CR LF CR LF, and LF LF as lenient servers take it; of a POST also the first bytes of the body,
// which may be another application's message: of a document in XML its first tag, where it names
// what it is (XEP-0124: BOSH).
#define BODY_SEEN_MIN 4
#define TAG_BYTES_MAX 1024
static bool has_all_header(struct text method, struct text rest)
{
	struct text line;
	bool xml = false;

	while (text_take_line(&rest, &line)) {
		xml |= line.length > 13 && octets_lower(line.at[0]) == 'c' &&
		       text_contains(line, "/xml");
		if (line.length)
			continue;
		if (!text_is(method, "POST"))
			return true;
		return rest.length >= BODY_SEEN_MIN &&
		       (!xml || rest.length >= TAG_BYTES_MAX || text_contains_byte(rest, '>'));
	}
	return false;
}

// RFC 9112 5: name ":" value. Empty if no field line is here in full.
static bool begins_with_field(struct text rest)
{
	struct text line;

	if (!text_take_line(&rest, &line))
		return true;
	return !line.length || is_token(text_take(&line, ':'));
}

// RFC 6455 4.1. What will be spoken inside is for the server to choose.
static bool asks_for_websocket(struct text rest)
{
	struct text line;

	while (text_take_line(&rest, &line) && line.length) {
		struct text name = text_take(&line, ':');

		if (text_is(name, "Upgrade") && text_is(text_take_word(&line), "websocket"))
			return true;
	}
	return false;
}

static enum verify verify_request_line(struct text line, struct text rest, bool answered)
{
	struct text method = text_take(&line, ' '), version = {line.at, 0};
	bool known = text_is_among(method, methods);

	// The version is the last word; a target with blanks is wrong, and seen.
	for (struct text at = line; at.length;)
		version = text_take(&at, ' ');
	if (is_version(version)) {
		if (!is_token(method) || !begins_with_field(rest))
			return known ? VERIFY_PARTIAL : VERIFY_NO;
		if (!known && !is_target(method, text_take(&line, ' ')))
			return VERIFY_NO;
		if (asks_for_websocket(rest) && !answered)
			return VERIFY_PARTIAL;
		return has_all_header(method, rest) ? VERIFY_YES : VERIFY_PARTIAL;
	}
	// A version that nobody has: the rest of the line and a field after it are HTTP's all the
	// same, and servers answer it with 400 or 505 (RFC 9110 15.6.6).
	if (known && text_begins(version, "HTTP/") && version.length > 5 && rest.length &&
		is_target(method, text_take(&line, ' ')) && begins_with_field(rest))
		return VERIFY_PARTIAL;
	// HTTP/0.9 has no version, and then no header (RFC 1945 4.1, Simple-Request); an empty line
	// behind it belongs to nothing.
	while (rest.length && (rest.at[0] == '\r' || rest.at[0] == '\n'))
		rest = text_from(rest, 1);
	return text_is(method, "GET") && is_target(method, line) && text_is_printable(line) &&
			       !text_contains_byte(line, ' ') && !rest.length
		       ? VERIFY_PARTIAL
		       : VERIFY_NO;
}

static enum verify verify_request(struct text half, bool answered)
{
	struct text line, rest = half, method;

	if (text_take_line(&rest, &line))
		return verify_request_line(line, rest, answered);
	// A line that has not ended: a long target, or one that trickles in.
	method = text_take(&rest, ' ');
	if (!text_is_among(method, methods) || !text_is_printable(half))
		return VERIFY_NO;
	if (!rest.length)
		return VERIFY_MORE;
	struct text target = text_take(&rest, ' ');

	if (text_is(method, "CONNECT") && !is_authority(target))
		return VERIFY_NO;
	if (!is_target(method, target))
		return rest.length ? VERIFY_NO : VERIFY_MORE;
	return half.length >= 64 ? VERIFY_PARTIAL : VERIFY_MORE;
}

// RFC 9112 4: HTTP-version SP 3DIGIT SP [ reason-phrase ]
static enum verify verify_status(struct text half)
{
	struct text line = half;

	if (half.length < 12)
		return VERIFY_MORE;
	if (!octets_digit(half.at[7]) || half.at[8] != ' ')
		return VERIFY_NO;
	line = text_from(line, 9);
	return octets_digit(line.at[0]) && octets_digit(line.at[1]) && octets_digit(line.at[2])
		       ? VERIFY_DPI
		       : VERIFY_NO;
}

// The other side refuses in something else (a NetBIOS session, an SSH server): not HTTP after all.
static bool is_contradicted(struct text peer)
{
	return peer.length >= 5 && !text_begins(peer, "HTTP/") && !text_begins(peer, "ICY ") &&
	       (!text_is_printable((struct text){peer.at, 4}) || text_begins(peer, "SSH-"));
}

// Who looks for open ports says GET to everything: where a server of another kind is registered,
// its answer decides.
static bool is_foreign_port(uint16_t port)
{
	static const uint16_t ports[] = {
		21, 22, 23, 25, 53, 110, 111, 135, 139, 143, 389, 445, 3389};

	for (unsigned i = 0; i < sizeof(ports) / sizeof(ports[0]); i++)
		if (ports[i] == port)
			return true;
	return false;
}

static enum verify verify(const struct probe *probe)
{
	struct text half = probe_text(probe);

	if (text_begins(half, "HTTP/1."))
		return verify_status(half);
	if (is_foreign_port(probe->dport) && !probe->peer_length)
		return VERIFY_MORE;
	if (is_contradicted((struct text){probe->peer, probe->peer_length}))
		return VERIFY_NO;
	return verify_request(half, probe->peer_length > 0);
}

const struct app_proto app_proto_http = {
	.name = "http",
	.title = "HTTP",
	.group = "web",
	.category = APP_CATEGORY_WEB,
	.verify = verify,
	.carrier = true,
	.tcp_ports = {80, 8080, 8000, 3128, 8008, 8888},
};
