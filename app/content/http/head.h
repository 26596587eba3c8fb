// SPDX-License-Identifier: BSD-3-Clause
// What the decoder keeps of a message's head, or of a part's of a multipart body: a block of
// content_memory that grows with the line in progress, up to HTTP_HEAD_BLOCK_MAX.
#ifndef SLUICE_CONTENT_HTTP_HEAD_H
#define SLUICE_CONTENT_HTTP_HEAD_H

#include "content/coding.h"
#include "content/http/disposition.h"
#include "content/memory.h"
#include "content/urn.h"

#define HTTP_HEAD_BLOCK      1024u // at first
#define HTTP_HEAD_BLOCK_MAX  32768u
#define HTTP_LINE_BYTES      8192u              // of a line that is needed
#define HTTP_HEAD_BYTES      (256u << 10)       // of a head with all of its lines
#define HTTP_PATH_BYTES      1024u              // a longer one keeps its beginning
#define HTTP_HASHES_BYTES    CONTENT_PATH_BYTES // ... of a request that names torrents: all of it
#define HTTP_HOST_BYTES      255u
#define HTTP_VALIDATOR_BYTES 256u
#define HTTP_BOUNDARY_BYTES  200u // RFC 2046 section 5.1.1 allows 70
#define HTTP_CODINGS         2    // in a row, besides chunked

enum http_method {
	HTTP_METHOD_OTHER,
	HTTP_METHOD_GET,
	HTTP_METHOD_HEAD,
	HTTP_METHOD_CONNECT,
	HTTP_METHOD_PUT,
	HTTP_METHOD_PRI, // RFC 9113 section 3.4: HTTP/2 from here on
};

enum http_field {
	HTTP_FIELD_NONE, // not needed
	HTTP_FIELD_ACCEPT_ENCODING,
	HTTP_FIELD_CONTENT_DISPOSITION,
	HTTP_FIELD_CONTENT_ENCODING,
	HTTP_FIELD_CONTENT_LENGTH,
	HTTP_FIELD_CONTENT_RANGE,
	HTTP_FIELD_CONTENT_TYPE,
	HTTP_FIELD_ETAG,
	HTTP_FIELD_HOST,
	HTTP_FIELD_LAST_MODIFIED,
	HTTP_FIELD_RANGE, // also Request-Range
	HTTP_FIELD_TE,
	HTTP_FIELD_TRANSFER_ENCODING,
	HTTP_FIELD_UPGRADE,
	HTTP_FIELD_URN,        // of the file, as Gnutella names it
	HTTP_FIELD_USER_AGENT, // its beginning
};

enum http_media {
	HTTP_MEDIA_NONE,       // not said
	HTTP_MEDIA_FORM,       // application/x-www-form-urlencoded
	HTTP_MEDIA_FORM_PARTS, // multipart/form-data
	HTTP_MEDIA_RANGES,     // multipart/byteranges
	HTTP_MEDIA_OTHER,
};

enum http_upgrade {
	HTTP_UPGRADE_NONE,
	HTTP_UPGRADE_WEBSOCKET,
	HTTP_UPGRADE_H2C,
	HTTP_UPGRADE_TLS,
	HTTP_UPGRADE_OTHER,
};

// A text in the block.
struct http_piece {
	uint16_t at, length;
};

struct http_head {
	uint32_t room; // of `text`
	uint32_t kept; // bytes of it that pieces lie in
	uint32_t line; // bytes behind them: of the line in progress
	uint16_t status;
	uint8_t method;              // enum http_method
	uint8_t minor_version;       // HTTP/1.0 or 1.1
	bool simple;                 // GET without a version: HTTP/0.9, whose request is one line
	bool bare;                   // what answers may be a file without a head
	uint8_t media;               // enum http_media
	uint8_t upgrade;             // enum http_upgrade
	uint8_t name_source;         // enum content_name_source
	uint8_t n_coded, n_transfer; // codings that are known, in the order they were applied
	uint8_t coded[HTTP_CODINGS], transfer[HTTP_CODINGS]; // enum coding_kind
	bool coding_unknown;                                 // or too many
	bool content_unknown;                                // ... in Content-Encoding
	bool coded_as_is;   // it has a word that says nothing of the bytes
	bool has_transfer;  // Transfer-Encoding is there
	bool chunked;       // ... and its last coding is chunked
	bool identity;      // ... and a word of it is identity, which says nothing
	bool transfer_says; // ... or something else
	bool has_length, bad_length;
	bool has_etag;
	bool name_cut;
	uint8_t n_aliases;
	uint8_t alias_sources[HTTP_NAMES - 1]; // enum content_name_source
	bool has_range;                        // Content-Range; of a request also Range
	bool asks_part;                        // Range, whatever it says
	bool boundary_bad;
	uint64_t length;      // Content-Length
	uint64_t range_from;  // offset of the first byte
	uint64_t range_total; // CONTENT_SIZE_UNKNOWN: not said
	// The path as it was sent, with its query; host without a port; the name by
	// Content-Disposition; those by the path, as struct http_path_names (name.h).
	struct http_piece path, host, authority, name, type, boundary, validator;
	struct http_piece path_name, path_bare, path_query;
	struct http_piece aliases[HTTP_NAMES - 1]; // of `name`, by Content-Disposition, too
	uint16_t names_bytes;                      // that they and it take
	struct http_piece verb, agent;             // the method as it was sent; User-Agent
	bool path_name_cut;
	struct urn_ids urns; // by its field
	uint8_t text[];
};

static inline struct content_text http_head_text(
	const struct http_head *head, struct http_piece piece)
{
	return (struct content_text){head->text + piece.at, piece.length};
}

// The names that it says of a file itself: it has one.
void http_head_name(const struct http_head *head, struct content_file *file);

// The line in progress.
static inline struct content_text http_head_line(const struct http_head *head)
{
	return (struct content_text){head->text + head->kept, head->line};
}

// Room for so many more bytes: a block for *head if it has none, or a larger one. False: no memory,
// nothing has changed.
bool http_head_reserve(struct http_head **head, struct content_memory *memory, uint32_t more);

// The line in progress, in whole or its beginning, becomes a piece; the line goes on behind it.
struct http_piece http_head_keep(struct http_head *head, uint32_t length);

#endif
