/* Memory of tests that nobody frees, out of the leak checker's sight. */
#ifndef TESTS_SUPPORT_FOREVER_H
#define TESTS_SUPPORT_FOREVER_H

#include "lib/base/bytes.h"

/* The content, which lives until the process ends. Any thread. */
struct view forever(struct bytes bytes);

#endif
