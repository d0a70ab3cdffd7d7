/* The directives of contrib's timeutils, for Time and FormatTime. For lib/ottl alone. */
#ifndef LIB_OTTL_TIME_FORMAT_H
#define LIB_OTTL_TIME_FORMAT_H

#include "lib/ottl/node.h"

extern const char *const time_months[12], *const time_days[7]; /* days from Sunday on */

/* The directives that one stands for; NULL: none. D and x are read with two digits of the year as
 * well. */
const char *time_whole_part(char part);

/* Takes the next directive or character off a format. *directive: it is one. Digits of seconds
 * include the '.' or ',' in front of them: *mark, which is 0 otherwise. */
char time_next_part(struct view *format, bool *directive, char *mark);

/* What is wrong with a format argument; NULL: nothing. */
const char *time_check_directives(const struct ottl_node *format);

#endif
