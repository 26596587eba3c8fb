// SPDX-License-Identifier: BSD-3-Clause
// Tells files apart that are text, or begin as text.
#include "content/file_type_text.h"
#include "content/charset.h"
#include "content/file_type.h"
#include "pipeline/vocab/octets.h"

#include <string.h>
#include <strings.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static bool is_blank(uint8_t byte)
{
	return byte == ' ' || byte == '\t';
}

static bool is_white(uint8_t byte)
{
	return is_blank(byte) || byte == '\n' || byte == '\r' || byte == '\f';
}

static bool is_letter(uint8_t byte)
{
	return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
}

// The end of the line at `at`: where its LF is, or the end of the bytes. false: it may go on.
static bool line_end(const struct file_head *head, uint32_t at, uint32_t *end)
{
	const uint8_t *feed = NULL;

	if (at < head->length)
		feed = memchr(head->bytes + at, '\n', head->length - at);
	*end = feed ? (uint32_t)(feed - head->bytes) : head->length;
	return feed || head->is_all;
}

struct part {
	const uint8_t *bytes;
	uint32_t length;
};

// The next word of what is left; its length is 0 where there is none.
static struct part next_word(struct part *left)
{
	struct part word;

	while (left->length && is_white(*left->bytes)) {
		left->bytes++;
		left->length--;
	}
	word = (struct part){left->bytes, 0};
	while (left->length && !is_white(*left->bytes)) {
		left->bytes++;
		left->length--;
		word.length++;
	}
	return word;
}

static struct part last_component(struct part path)
{
	for (uint32_t i = path.length; i > 0; i--)
		if (path.bytes[i - 1] == '/')
			return (struct part){path.bytes + i, path.length - i};
	return path;
}

static bool is_word(struct part part, const char *word)
{
	return part.length == strlen(word) && !memcmp(part.bytes, word, part.length);
}

// By its name, behind which a version may stand.
static enum file_type_symbol interpreter_type(struct part name)
{
	static const struct {
		const char *name;
		enum file_type_symbol type;
	} rows[] = {
		{"sh", TYPE_SHELL},
		{"bash", TYPE_SHELL},
		{"dash", TYPE_SHELL},
		{"ash", TYPE_SHELL},
		{"ksh", TYPE_SHELL},
		{"mksh", TYPE_SHELL},
		{"zsh", TYPE_SHELL},
		{"csh", TYPE_SHELL},
		{"tcsh", TYPE_SHELL},
		{"fish", TYPE_SHELL},
		{"python", TYPE_PYTHON},
		{"pypy", TYPE_PYTHON},
		{"perl", TYPE_PERL},
		{"ruby", TYPE_RUBY},
		{"php", TYPE_PHP},
		{"node", TYPE_JAVASCRIPT},
		{"nodejs", TYPE_JAVASCRIPT},
		{"deno", TYPE_JAVASCRIPT},
		{"bun", TYPE_JAVASCRIPT},
		{"pwsh", TYPE_POWERSHELL},
		{"lua", TYPE_LUA},
		{"luajit", TYPE_LUA},
	};

	while (name.length && (octets_digit(name.bytes[name.length - 1]) ||
				      strchr("-.", name.bytes[name.length - 1])))
		name.length--;
	for (unsigned i = 0; i < COUNT(rows); i++)
		if (is_word(name, rows[i].name))
			return rows[i].type;
	return TYPE_SCRIPT;
}

// The first line names an interpreter by its path; env(1) has it as an argument.
enum file_type_symbol kind_script(const struct file_head *head)
{
	uint32_t end;

	if (!line_end(head, 2, &end))
		return TYPE_WAIT;
	struct part line = {head->bytes + 2, end - 2};
	struct part word = next_word(&line);

	if (!word.length || word.bytes[0] != '/')
		return TYPE_NONE;
	word = last_component(word);
	if (is_word(word, "env")) {
		do
			word = next_word(&line);
		while (word.length &&
			(word.bytes[0] == '-' || memchr(word.bytes, '=', word.length)));
		word = last_component(word);
	}
	return interpreter_type(word);
}

// A string of bencoding (BEP 3) at *at, which goes behind it.
static enum head_match benc_string(const struct file_head *head, uint32_t *at, struct part *string)
{
	uint32_t n = 0, i = *at;

	for (; i < head->length && octets_digit(head->bytes[i]); i++) {
		n = n * 10 + (head->bytes[i] - '0');
		if (n > FILE_TYPE_BYTES)
			return HEAD_NO;
	}
	if (i < head->length && (head->bytes[i] != ':' || i == *at))
		return HEAD_NO;
	if (i == head->length || i + 1 + n > head->length)
		return head->is_all || i + 1 + n > FILE_TYPE_BYTES ? HEAD_NO : HEAD_PART;
	*string = (struct part){head->bytes + i + 1, n};
	*at = i + 1 + n;
	return HEAD_YES;
}

// Any value at *at, which goes behind it.
static enum head_match benc_skip(const struct file_head *head, uint32_t *at)
{
	enum head_match found;
	struct part string;
	unsigned depth = 0;

	do {
		if (*at >= head->length)
			return head->is_all ? HEAD_NO : HEAD_PART;
		uint8_t byte = head->bytes[*at];

		if (byte == 'd' || byte == 'l') {
			depth++;
			++*at;
		} else if (byte == 'e' && depth) {
			depth--;
			++*at;
		} else if (byte == 'i') {
			do
				++*at;
			while (*at < head->length &&
				(octets_digit(head->bytes[*at]) || head->bytes[*at] == '-'));
			if (*at >= head->length)
				return head->is_all ? HEAD_NO : HEAD_PART;
			if (head->bytes[(*at)++] != 'e')
				return HEAD_NO;
		} else {
			found = benc_string(head, at, &string);
			if (found != HEAD_YES)
				return found;
		}
	} while (depth);
	return HEAD_YES;
}

// A dictionary with one of the keys of a torrent.
enum file_type_symbol kind_torrent(const struct file_head *head)
{
	uint32_t at = 1;

	for (;;) {
		struct part key;
		enum head_match found = benc_string(head, &at, &key);

		if (found == HEAD_YES) {
			if (is_word(key, "announce") || is_word(key, "announce-list"))
				return TYPE_TORRENT;
			if (is_word(key, "info"))
				switch (head_has(head, at, "d", 1, NULL)) {
				case HEAD_YES: return TYPE_TORRENT;
				case HEAD_PART: return TYPE_WAIT;
				default: return TYPE_NONE;
				}
			found = benc_skip(head, &at);
		}
		if (found != HEAD_YES)
			return found == HEAD_PART ? TYPE_WAIT : TYPE_NONE;
	}
}

// The first line ends in a time and a year (RFC 4155).
enum file_type_symbol kind_mbox(const struct file_head *head)
{
	const uint8_t *bytes = head->bytes;
	unsigned colons = 0;
	uint32_t end;

	if (!line_end(head, 0, &end))
		return TYPE_WAIT;
	if (end && bytes[end - 1] == '\r')
		end--;
	for (uint32_t i = 5; i < end; i++)
		colons += bytes[i] == ':';
	if (end < 20 || colons < 2 || bytes[end - 5] != ' ')
		return TYPE_NONE;
	for (uint32_t i = end - 4; i < end; i++)
		if (!octets_digit(bytes[i]))
			return TYPE_NONE;
	return TYPE_MBOX;
}

// Fields that messages have (RFC 5322, RFC 2045).
static bool is_mail_field(struct part name)
{
	static const char *const names[] = {"return-path", "received", "delivered-to", "message-id",
		"mime-version", "dkim-signature", "x-original-to", "from", "to", "cc", "subject",
		"date", "reply-to", "sender"};

	for (unsigned i = 0; i < COUNT(names); i++)
		if (strlen(names[i]) == name.length &&
			!strncasecmp(names[i], (const char *)name.bytes, name.length))
			return true;
	return false;
}

// Two of them, and no line before them that is none of a header.
enum file_type_symbol kind_mail(const struct file_head *head)
{
	unsigned fields = 0;
	uint32_t at = 0, end;

	while (at < head->length) {
		const uint8_t *line = head->bytes + at;
		uint32_t n = 0, left = head->length - at;

		while (n < left && (is_letter(line[n]) || octets_digit(line[n]) || line[n] == '-'))
			n++;
		if (n == left)
			break;
		if (line[n] == ':' && n)
			fields += is_mail_field((struct part){line, n});
		else if (n || !fields || !is_blank(line[n]))
			return TYPE_NONE;
		if (fields == 2)
			return TYPE_EML;
		if (!line_end(head, at, &end))
			return TYPE_WAIT;
		at = end + 1;
	}
	return head_lacks(head, TYPE_NONE);
}

// How files begin, in any case of letters; `tag`: behind it a name ends.
static const struct {
	const char *text;
	enum file_type_symbol type;
	bool tag;
} markups[] = {
	{"%PDF-", TYPE_PDF, false},
	{"{\\rtf", TYPE_RTF, false},
	{"<?php", TYPE_PHP, true},
	{"<?xml", TYPE_XML, true},
	{"<!doctype html", TYPE_HTML, true},
	{"<!doctype svg", TYPE_SVG, true},
	{"<!doctype", TYPE_XML, true},
	{"<svg", TYPE_SVG, true},
	{"<html", TYPE_HTML, true},
	{"<head", TYPE_HTML, true},
	{"<script", TYPE_HTML, true},
	{"<iframe", TYPE_HTML, true},
	{"<body", TYPE_HTML, true},
	{"<title", TYPE_HTML, true},
	{"<meta", TYPE_HTML, true},
	{"<table", TYPE_HTML, true},
	{"<style", TYPE_HTML, true},
	{"<div", TYPE_HTML, true},
	{"<font", TYPE_HTML, true},
	{"<center", TYPE_HTML, true},
	{"<h1", TYPE_HTML, true},
	{"<a", TYPE_HTML, true},
	{"<b", TYPE_HTML, true},
	{"<p", TYPE_HTML, true},
	{"<br", TYPE_HTML, true},
	{"<!--", TYPE_HTML, false},
};

static bool ends_name(uint8_t byte)
{
	return is_white(byte) || byte == '>' || byte == '/';
}

static enum head_match markup_at(const struct file_head *head, uint32_t at, unsigned row)
{
	const char *text = markups[row].text;
	uint32_t n = (uint32_t)strlen(text), left = head->length - at;
	uint32_t known = left < n ? left : n;

	if (strncasecmp((const char *)head->bytes + at, text, known))
		return HEAD_NO;
	if (left < n + markups[row].tag)
		return head->is_all || at + n + markups[row].tag > FILE_TYPE_BYTES ? HEAD_NO
										   : HEAD_PART;
	return !markups[row].tag || ends_name(head->bytes[at + n]) ? HEAD_YES : HEAD_NO;
}

static uint32_t find(const struct file_head *head, uint32_t at, const char *text)
{
	const uint8_t *found = memmem(head->bytes + at, head->length - at, text, strlen(text));

	return found ? (uint32_t)(found - head->bytes) + (uint32_t)strlen(text) : 0;
}

// What the first element of XML is, behind instructions, comments and the document's type; `at` is
// where the first of these stands.
static enum file_type_symbol xml_root(const struct file_head *head, uint32_t at)
{
	uint32_t open = find(head, at, "<"), name, end;

	while (open && head->length - open >= 3) {
		bool comment = !memcmp(head->bytes + open, "!--", 3);

		name = open;
		if (head->bytes[open] == '?' || head->bytes[open] == '!') {
			end = find(head, open, comment ? "-->" : ">");
			open = end ? find(head, end, "<") : 0;
			continue;
		}
		for (end = open; end < head->length && !ends_name(head->bytes[end]); end++)
			if (head->bytes[end] == ':')
				name = end + 1;
		if (end == head->length)
			break;
		const struct part root = {head->bytes + name, end - name};

		if (is_word(root, "svg"))
			return TYPE_SVG;
		return is_word(root, "html") ? TYPE_HTML : TYPE_XML;
	}
	return head_lacks(head, TYPE_XML);
}

// Behind a byte order mark and white space, which what reads them passes over.
enum file_type_symbol kind_markup(const struct file_head *head)
{
	bool part = false;
	uint32_t at = 0;

	switch (head_has(head, 0, "\xef\xbb\xbf", 3, NULL)) {
	case HEAD_YES: at = 3; break;
	case HEAD_PART: return TYPE_WAIT;
	default: break;
	}
	while (at < head->length && is_white(head->bytes[at]))
		at++;
	if (at == head->length)
		return head_lacks(head, TYPE_NONE);
	if (!strchr("<%{", head->bytes[at]))
		return TYPE_NONE;
	for (unsigned i = 0; i < COUNT(markups); i++)
		switch (markup_at(head, at, i)) {
		case HEAD_YES:
			if (part)
				return TYPE_WAIT;
			if (markups[i].type == TYPE_XML)
				return xml_root(head, at);
			return markups[i].type;
		case HEAD_PART: part = true; break;
		default: break;
		}
	return part ? TYPE_WAIT : TYPE_NONE;
}

static bool is_text_point(int32_t point)
{
	if (point == '\t' || point == '\n' || point == '\r' || point == '\f')
		return true;
	return point >= ' ' && (point < 0x7f || point > 0x9f);
}

// All that is here is text, and a character that is cut is one that goes on.
enum file_type_symbol kind_text(const struct file_head *head)
{
	const struct text_source source = {.bytes = head->bytes, .length = head->length};
	struct charset_decoder decoder;
	bool is_wide = head->length >= 2 &&
		       (!memcmp(head->bytes, "\xff\xfe", 2) || !memcmp(head->bytes, "\xfe\xff", 2));
	int32_t points[2];

	charset_begin(&decoder, is_wide ? charset_guess(&source) : CHARSET_UTF8);
	for (uint32_t i = 0; i < head->length; i++) {
		unsigned n = charset_push(&decoder, head->bytes[i], points);

		for (unsigned k = 0; k < n; k++)
			if (decoder.invalid || !is_text_point(points[k]))
				return TYPE_NONE;
	}
	if (!head->is_all)
		return TYPE_WAIT;
	if (head->is_whole)
		charset_end(&decoder, points);
	// a mark alone is none
	return head->length > (is_wide ? 2 : 0) && !decoder.invalid ? TYPE_TEXT : TYPE_NONE;
}
