/* Memory that tests never free, hidden from the leak checker. */
#ifndef TESTS_SUPPORT_FOREVER_H
#define TESTS_SUPPORT_FOREVER_H

#include "lib/base/bytes.h"

/* Keeps the content until the process ends, and returns it. Any thread. */
struct view forever(struct bytes bytes);

#endif
