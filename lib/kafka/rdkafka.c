#include "lib/kafka/rdkafka.h"

#include "lib/late/library.h"

#include <stddef.h>

struct rdkafka rdkafka;

#define RDKAFKA_ROW(name) {"rd_kafka_" #name, &rdkafka.name},
static const struct late_function functions[] = {RDKAFKA_FUNCTIONS(RDKAFKA_ROW){NULL, NULL}};

static struct late_library library = {RDKAFKA_FILE, functions, 0};

bool rdkafka_ready(void)
{
    return late_library_open(&library);
}
