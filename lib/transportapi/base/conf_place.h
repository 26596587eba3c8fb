// SPDX-License-Identifier: BSD-3-Clause
// Where a value stands in a JSON document: jansson keeps no lines of what it has read.
#ifndef TRANSPORTAPI_CONF_PLACE_H
#define TRANSPORTAPI_CONF_PLACE_H

// The line, from 1, of section.name[index] in `text`, a document that was parsed without error.
// section NULL: name is a member of the document. name NULL: the section. index < 0: the value as a
// whole. 0: it is not there.
unsigned tapi_conf_line(const char *text, const char *section, const char *name, int index);

#endif
