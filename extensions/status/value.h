/* Attributes of OTLP as JSON. Pure. */
#ifndef EXTENSIONS_STATUS_VALUE_H
#define EXTENSIONS_STATUS_VALUE_H

#include "extensions/status/json.h"

/* Writes the KeyValues of field `list` of a message as one object, with duplicate keys. */
void value_attributes(struct json *json, const char *key, struct view message, uint32_t list);

#endif
