// SPDX-License-Identifier: BSD-3-Clause
// Names results and formats error messages.
#include "transportapi/base/identity.h"

#include <stdarg.h>
#include <stdio.h>

void tapi_error_format(struct tapi_error *error, const char *format, ...)
{
	va_list arguments;

	if (!error)
		return;
	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
}

const char *tapi_result_name(enum tapi_result result)
{
	switch (result) {
	case TAPI_OK: return "ok";
	case TAPI_DROPPED: return "dropped";
	case TAPI_ETOOBIG: return "too big";
	case TAPI_EDOWN: return "down";
	case TAPI_EADDR: return "no address of this transport";
	case TAPI_EACL: return "denied";
	case TAPI_ENOADDR: return "no address";
	case TAPI_EUNIDIR: return "one way only";
	case TAPI_ELIMIT: return "limit reached";
	case TAPI_ENOMEM: return "out of memory";
	case TAPI_ESYS: return "refused by the system";
	case TAPI_ECONF: return "wrong configuration";
	case TAPI_ESIG: return "wrong signature";
	case TAPI_EEXPIRED: return "expired";
	case TAPI_EFORMAT: return "malformed";
	}
	return "unknown";
}
