/* Types of plain YAML scalars, by the rules of the YAML library that the Collector uses. Pure. */
#ifndef LIB_SETTINGS_SCALAR_H
#define LIB_SETTINGS_SCALAR_H

#include <stdbool.h>
#include <stdint.h>

enum scalar_type { SCALAR_NULL, SCALAR_BOOL, SCALAR_INT, SCALAR_FLOAT, SCALAR_STRING };

enum scalar_type scalar_type(const char *text);

/* All return false if the text is not of that type, or the number does not fit. */
bool scalar_bool(const char *text, bool *value);
bool scalar_int(const char *text, int64_t *value);   /* 12, 1_000, 0x1f, 0o17, 017, 0b11 */
bool scalar_float(const char *text, double *value);  /* FLOAT, .inf and .nan too */
bool scalar_number(const char *text, double *value); /* finite; 1.5, 1e3, and every form of INT */

#endif
