// SPDX-License-Identifier: BSD-3-Clause
// Checks host names and suffixes in documents, and says what is wrong with one.
#include "config/host_text.h"
#include <arpa/inet.h>
#include <string.h>

// What is wrong with a label, or NULL.
static const char *label_fault(const char *label, size_t length)
{
	if (!length)
		return "has an empty label";
	if (length > USER_HOST_LABEL_MAX)
		return "has a label of more than 63 characters";
	for (size_t i = 0; i < length; i++) {
		if ((unsigned char)label[i] >= 0x80)
			return "is not ASCII: write each label as DNS has it, \"xn--...\"";
		if (label[i] == '*')
			return "has a wildcard: remove it, a name stands for all names below it, "
			       "too";
		if (label[i] == '/' || label[i] == ':')
			return "is more than a host name: without scheme, port and path";
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-_", label[i]))
			return "has a character that no host name has";
	}
	return NULL;
}

static const char *host_fault(const char *host)
{
	uint8_t address[16];

	if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1)
		return "is an address: use \"networks\"";
	if (*host == '.')
		return "begins with a dot: remove it, a name stands for all names below it, too";
	for (;;) {
		size_t length = strcspn(host, ".");
		const char *fault = label_fault(host, length);

		if (fault || !host[length])
			return fault;
		host += length + 1;
	}
}

bool host_want_suffix(const struct json_at *at, char host[HOST_TEXT_BYTES])
{
	const char *text, *fault;
	size_t length;

	if (!json_want_text(at, 1, USER_HOST_NAME_MAX + 1, &text))
		return false;
	length = strlen(text);
	for (size_t i = 0; i <= length; i++)
		host[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] - 'A' + 'a' : text[i]);
	if (length > 1 && host[length - 1] == '.')
		host[--length] = 0;
	fault = host_fault(host);
	if (!fault && length <= USER_HOST_NAME_MAX)
		return true;
	json_at_error(at, "\"%.64s\" %s", text, fault ? fault : "is longer than 253 characters");
	return false;
}
