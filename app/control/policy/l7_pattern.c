// SPDX-License-Identifier: BSD-3-Clause
// Converts pattern files of l7-filter into signatures.
#include "control/policy/l7_pattern.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

// What l7-protocols calls otherwise; names that are the same stand for themselves.
static const char *const aliases[] = {
	"aim",
	"oscar",
	"aimwebcontent",
	"oscar",
	"gnucleuslan",
	"gnutella",
	"gtalk",
	"xmpp",
	"jabber",
	"xmpp",
	"msn-filetransfer",
	"msn",
	"msnmessenger",
	"msn",
	"validcertssl",
	"tls",
	"ssl",
	"tls",
	NULL,
};

const char *const *l7_aliases(void)
{
	return aliases;
}

const char *l7_alias(const char *name)
{
	for (unsigned i = 0; aliases[i]; i += 2)
		if (!strcmp(aliases[i], name))
			return aliases[i + 1];
	return NULL;
}

// One translation: where it reads, where it writes, and what stood before.
struct translation {
	const char *at;
	const char *why; // NULL while all is well
	char *out;
	size_t used, room;
	unsigned depth;
	bool posix;
	bool binary;     // the last atom may be a byte that is not text
	bool repeatable; // an atom has just ended
};

static void put(struct translation *t, const char *text)
{
	size_t n = strlen(text);

	if (t->used + n >= t->room) {
		t->why = "too long";
		return;
	}
	memcpy(t->out + t->used, text, n + 1);
	t->used += n;
}

static void put_byte(struct translation *t, unsigned byte)
{
	char text[12];

	if ((byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
		(byte >= 'A' && byte <= 'Z') || byte == ' ' || byte == '_')
		snprintf(text, sizeof(text), "%c", (char)byte);
	else if (byte > ' ' && byte < 0x7f && !strchr("\\^$.[]|()?*+{}-#/", (int)byte))
		snprintf(text, sizeof(text), "%c", (char)byte);
	else if (byte > ' ' && byte < 0x7f)
		snprintf(text, sizeof(text), "\\%c", (char)byte);
	else
		snprintf(text, sizeof(text), "\\x%02x", byte & 0xff);
	put(t, text);
}

static bool is_text(unsigned byte)
{
	return (byte >= ' ' && byte < 0x7f) || (byte >= '\t' && byte <= '\r');
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// \xHH at `at`: the byte, or -1.
static int hex_byte(const char *at)
{
	if (at[0] != '\\' || at[1] != 'x' || hex_digit(at[2]) < 0 || hex_digit(at[3]) < 0)
		return -1;
	return hex_digit(at[2]) * 16 + hex_digit(at[3]);
}

// Before an atom: NUL bytes that are not seen by l7-filter. `binary`: what the atom is.
static void begin_atom(struct translation *t, bool binary)
{
	if (binary || t->binary)
		put(t, "\\x00*");
	t->binary = binary;
	t->repeatable = true;
}

static bool repeats(const struct translation *t)
{
	return *t->at == '*' || *t->at == '+' || *t->at == '?' || (t->posix && *t->at == '{');
}

// A set or a byte, with its NULs inside of what is repeated.
static void put_atom(struct translation *t, const char *atom, bool binary)
{
	bool group = repeats(t) && (binary || t->binary) && *t->at != '?';

	if (group)
		put(t, "(?:");
	begin_atom(t, binary);
	put(t, atom);
	if (group)
		put(t, ")");
}

static void translate_byte(struct translation *t, unsigned byte)
{
	char text[12];
	struct translation one = {.out = text, .room = sizeof(text)};

	if (!byte) {
		t->why = "\\x00: l7-filter never sees NUL bytes";
		return;
	}
	put_byte(&one, byte);
	put_atom(t, text, !is_text(byte));
}

// One member of a set, which may begin a range.
static unsigned take_member(struct translation *t)
{
	int byte = hex_byte(t->at);

	t->at += byte < 0 ? 1 : 4;
	return byte < 0 ? (unsigned char)t->at[-1] : (unsigned)byte;
}

static void put_set(struct translation *t, const bool set[256])
{
	char text[1200] = "[";
	struct translation one = {.out = text, .used = 1, .room = sizeof(text)};
	bool binary = false;

	for (unsigned i = 1; i < 256; i++) {
		unsigned last = i;

		if (!set[i])
			continue;
		while (last < 255 && set[last + 1])
			last++;
		put_byte(&one, i);
		if (last > i + 1)
			put(&one, "-");
		if (last > i)
			put_byte(&one, last);
		for (; i <= last; i++)
			binary = binary || !is_text(i);
		i = last;
	}
	put(&one, "]");
	if (one.used == 2)
		t->why = "a set of nothing";
	else
		put_atom(t, text, binary);
}

// V8 8: a first ] and a - at either end are themselves; a backslash is, too, but before xHH.
static void translate_set(struct translation *t)
{
	bool set[256] = {false}, negated = *t->at == '^', first = true;

	t->at += negated;
	for (; *t->at && (*t->at != ']' || first); first = false) {
		if (t->at[0] == '[' && (t->at[1] == ':' || t->at[1] == '=' || t->at[1] == '.') &&
			t->posix) {
			t->why = "a named set such as [:alpha:]";
			return;
		}
		unsigned low = take_member(t), high = low;

		if (t->at[0] == '-' && t->at[1] && t->at[1] != ']') {
			t->at++;
			high = take_member(t);
		}
		if (high < low) {
			t->why = "a range that ends before it begins";
			return;
		}
		for (; low <= high; low++)
			set[low] = true;
	}
	if (!*t->at) {
		t->why = "a [ without its ]";
		return;
	}
	t->at++;
	for (unsigned i = 0; i < 256 && negated; i++)
		set[i] = !set[i];
	put_set(t, set);
}

static void translate_repeat(struct translation *t, char sign)
{
	char text[2] = {sign, 0};

	if (!t->repeatable) {
		t->why = "a repetition of nothing";
		return;
	}
	put(t, text);
	t->repeatable = false;
}

// {n}, {n,}, {n,m} of POSIX.
static void translate_interval(struct translation *t)
{
	size_t n = strspn(t->at, "0123456789,");
	char text[16];

	if (!n || n + 3 > sizeof(text) || t->at[n] != '}' || *t->at == ',' || !t->repeatable) {
		t->why = "a { that is no repetition";
		return;
	}
	snprintf(text, sizeof(text), "{%.*s}", (int)n, t->at);
	put(t, text);
	t->at += n + 1;
	t->repeatable = false;
}

static void translate_group(struct translation *t, char sign)
{
	if (sign == '(') {
		t->depth++;
		put(t, "(?:");
		t->repeatable = false;
	} else if (sign == '|') {
		put(t, "|");
		t->repeatable = false;
		if (!t->depth)
			t->binary = false;
	} else if (!t->depth) {
		t->why = "a ) without its (";
	} else {
		t->depth--;
		put(t, ")");
		t->repeatable = true;
	}
}

static void translate_one(struct translation *t)
{
	int byte = hex_byte(t->at);
	char sign = *t->at;

	t->at += byte < 0 ? 1 : 4;
	if (byte >= 0) {
		translate_byte(t, (unsigned)byte);
		return;
	}
	switch (sign) {
	case '(':
	case '|':
	case ')': translate_group(t, sign); return;
	case '*':
	case '+':
	case '?': translate_repeat(t, sign); return;
	case '[': translate_set(t); return;
	case '.':
		// Any byte, NUL as well: what l7-filter would not have seen may stand for it.
		put(t, ".");
		t->binary = t->repeatable = true;
		return;
	case '^':
		put(t, "^");
		t->binary = t->repeatable = false;
		return;
	case '$':
		put(t, t->binary ? "\\x00*$" : "$");
		t->repeatable = false;
		return;
	case '{':
		if (t->posix)
			translate_interval(t);
		else
			translate_byte(t, '{');
		return;
	case '\\':
		if (!*t->at) {
			t->why = "a backslash at the end";
			return;
		}
		translate_byte(t, (unsigned char)*t->at++);
		return;
	default: translate_byte(t, (unsigned char)sign); return;
	}
}

int l7_translate(const struct l7_file *file, char *out, size_t room, char *err, size_t err_len)
{
	struct translation t = {
		.at = file->pattern, .out = out, .room = room, .posix = file->posix};

	*out = '\0';
	while (*t.at && !t.why)
		translate_one(&t);
	if (!t.why && t.depth)
		t.why = "a ( without its )";
	if (!t.why && !t.used)
		t.why = "nothing";
	if (!t.why)
		return 0;
	if (!strcmp(t.why, "too long"))
		snprintf(err, err_len, "too long: translated it has more than %zu characters",
			room - 1);
	else
		snprintf(err, err_len, "%s (near character %zu)", t.why,
			(size_t)(t.at - file->pattern));
	return -EINVAL;
}
