// SPDX-License-Identifier: BSD-3-Clause
// Translates globs, extensions and keywords.
#include "control/policy/content_pattern.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "content/name_text.h"

struct translation {
	const char *at; // in the glob
	char *out;
	size_t used, room;
	const char *why;    // it is not accepted; NULL: it is
	char literal[4096]; // characters that stand for themselves, not written yet
	size_t n_literal;
	char last; // of the form, of what was written last; 0: it is no literal
};

static const char too_long[] = "is too long";

static void put(struct translation *t, const char *text)
{
	size_t n = strlen(text);

	if (t->used + n >= t->room) {
		t->why = too_long;
		return;
	}
	memcpy(t->out + t->used, text, n + 1);
	t->used += n;
}

// The normal form, as a text that ends; its length.
static size_t normal_form(const char *text, size_t length, char *out, size_t room)
{
	bool cut;
	uint32_t n = text_normalize(CHARSET_UTF8, (const uint8_t *)text, (uint32_t)length,
		(uint8_t *)out, (uint32_t)(room - 1), &cut);

	out[n] = '\0';
	return cut ? 0 : n;
}

static void put_form(struct translation *t, const char *form)
{
	for (; *form; form++) {
		unsigned char byte = (unsigned char)*form;
		bool plain = byte >= 0x80 || (byte >= '0' && byte <= '9') ||
			     (byte >= 'a' && byte <= 'z');
		char text[8];

		snprintf(text, sizeof(text), plain ? "%c" : "\\x%02x", byte);
		put(t, text);
	}
}

static void end_literal(struct translation *t)
{
	char form[CONTENT_FORM_ROOM];
	size_t n;

	if (!t->n_literal)
		return;
	n = normal_form(t->literal, t->n_literal, form, sizeof(form));
	put_form(t, form);
	t->last = n ? form[n - 1] : t->last;
	t->n_literal = 0;
}

// Bytes of the character at `text`: JSON's texts are valid UTF-8.
static size_t character(const char *text)
{
	unsigned char byte = (unsigned char)*text;

	return byte < 0xc0 ? *text != '\0' : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

static void add_literal(struct translation *t)
{
	size_t n = character(t->at);

	if (t->n_literal + n > sizeof(t->literal)) {
		t->why = too_long;
		return;
	}
	memcpy(t->literal + t->n_literal, t->at, n);
	t->n_literal += n;
	t->at += n;
}

// Behind a backslash: the character that is meant.
static bool escaped(struct translation *t)
{
	if (*t->at != '\\')
		return true;
	t->at++;
	if (!*t->at)
		t->why = "ends with a backslash that has nothing behind it: write \"\\\\\" for one";
	return *t->at != '\0';
}

static uint32_t code_point(const char *text, size_t n)
{
	static const uint8_t first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t point = (uint8_t)text[0] & first[n];

	for (size_t i = 1; i < n; i++)
		point = point << 6 | ((uint8_t)text[i] & 0x3f);
	return point;
}

// A member of [...]; 0: reported.
static uint32_t take_member(struct translation *t)
{
	char form[64];
	size_t n, of_form;

	if (!escaped(t))
		return 0;
	n = character(t->at);
	if (!n)
		return 0;
	of_form = normal_form(t->at, n, form, sizeof(form));
	t->at += n;
	if (of_form && of_form == character(form))
		return code_point(form, of_form);
	t->why = "has a character in [...] that is none, or several, in the normal form: write it "
		 "outside of the brackets";
	return 0;
}

static void translate_set(struct translation *t)
{
	bool first = true;

	put(t, "[");
	if (*t->at == '!' || *t->at == '^') {
		put(t, "^");
		t->at++;
	}
	for (; !t->why && *t->at && (first || *t->at != ']'); first = false) {
		uint32_t low = take_member(t), high = low;
		char text[32];

		if (t->at[0] == '-' && t->at[1] && t->at[1] != ']') {
			t->at++;
			high = take_member(t);
		}
		if (!t->why && high < low)
			t->why = "has a range in [...] that ends before it begins";
		snprintf(
			text, sizeof(text), low == high ? "\\x{%x}" : "\\x{%x}-\\x{%x}", low, high);
		put(t, text);
	}
	if (t->why)
		return;
	if (*t->at != ']') {
		t->why = "has a [ without its ]: write \"\\\\[\" for a bracket";
		return;
	}
	t->at++;
	put(t, "]");
	t->last = 0;
}

static void translate_sign(struct translation *t)
{
	char sign = *t->at++;

	end_literal(t);
	t->last = 0;
	if (sign == '?') {
		put(t, ".");
	} else if (sign == '[') {
		translate_set(t);
	} else {
		t->at += strspn(t->at, "*");
		if (*t->at && t->used)
			put(t, ".*");
		else if (!*t->at && !t->used)
			put(t, "."); // it is all of the glob: a name that is there
	}
}

int content_glob(const char *text, bool file, char *regex, size_t room, const char **why)
{
	struct translation t = {.at = text, .out = regex, .room = room};
	bool open_end = false;

	regex[0] = '\0';
	if (*text != '*')
		put(&t, "\\A");
	while (*t.at && !t.why) {
		open_end = *t.at == '*';
		if (strchr("*?[", *t.at))
			translate_sign(&t);
		else if (escaped(&t))
			add_literal(&t);
	}
	end_literal(&t);
	if (!t.why && (!t.used || strcmp(regex, "\\A") == 0))
		t.why = "has nothing left in the normal form";
	if (!open_end)
		put(&t, "\\z");
	if (!t.why && file && strchr(text, '/'))
		t.why = "has a /, and is compared with the last component of a name alone: remove "
			"the folder";
	if (!t.why && file && !open_end && (t.last == '.' || t.last == ' '))
		t.why = "ends with a dot or blank, which are taken from the end of a name before "
			"it "
			"is compared: remove it";
	*why = t.why;
	return t.why ? -EINVAL : 0;
}

int content_extension(const char *text, char *regex, size_t room, const char **why)
{
	struct translation t = {.out = regex, .room = room};
	char form[CONTENT_FORM_ROOM];
	size_t n = normal_form(text, strlen(text), form, sizeof(form));

	if (!n)
		t.why = "has nothing left in the normal form";
	else if (form[0] == '.')
		t.why = "begins with a dot: write it without";
	else if (strpbrk(text, "*?[") || strchr(form, '/'))
		t.why = "is no extension: write \"exe\" or \"tar.gz\", and a glob under \"name\"";
	else if (form[n - 1] == '.' || form[n - 1] == ' ')
		t.why = "ends with a dot or blank, which are taken from the end of a name before "
			"it "
			"is compared: remove it";
	put(&t, "\\x2e");
	put_form(&t, form);
	put(&t, "\\z");
	*why = t.why;
	return t.why ? -EINVAL : 0;
}

int content_keyword(const char *text, char *form, size_t room, const char **why)
{
	*why = normal_form(text, strlen(text), form, room)
		       ? NULL
		       : "has nothing left in the normal form: it holds only characters that "
			 "nobody sees";
	return *why ? -EINVAL : 0;
}
