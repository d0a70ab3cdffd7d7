/* Input: a name, a line end, a query. For any size of out, a value is complete or not found. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/wire/http/http_query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *name = malloc(size + 2), *value = malloc(size + 1);
    if (!name || !value)
        abort();
    if (size)
        memcpy(name, data, size);
    name[size] = name[size + 1] = '\0';
    char *query = name + strcspn(name, "\n");
    if (*query)
        *query++ = '\0';
    bool found = http_query_get(query, name, value, size + 1);
    for (size_t room = 0; room < 40; room++) {
        char *small = malloc(room ? room : 1);
        bool fits = http_query_get(query, name, small, room);
        assert(fits == (found && strlen(value) < room));
        assert(!fits || strcmp(small, value) == 0);
        free(small);
    }
    free(value);
    free(name);
    return 0;
}
