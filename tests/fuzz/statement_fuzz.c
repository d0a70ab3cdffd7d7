/* A byte that names a database, and a statement: what is made of it has room, and JSON without its
 * values stays as it is. */
#include "processors/redaction/statement.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool sanitize(uint8_t kind, struct view text, struct bytes *out)
{
    static struct regex *letter;
    char error[200];
    if (!letter)
        letter = regex_new(VIEW(STATEMENT_LETTER), error, sizeof error);
    switch (kind) {
    case 'r':
        return statement_redis(text, out);
    case 'm':
        return statement_memcached(text, out);
    case 'j':
        return statement_json(text, out);
    default:
        return statement_sql(text, kind == 'y', letter, out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes out, again;
    if (!size)
        return 0;
    uint8_t *copy = malloc(size); /* so that a byte too far is found */
    memcpy(copy, data + 1, size - 1);
    struct view text = {copy, size - 1};
    bytes_init(&out, statement_room(text), NULL);
    if (!sanitize(*data, text, &out))
        abort();
    bytes_init(&again, statement_room(bytes_view(&out)), NULL);
    if (*data == 'j' && (!sanitize('j', bytes_view(&out), &again) ||
                         !view_eq(bytes_view(&out), bytes_view(&again))))
        abort();
    bytes_release(&again);
    bytes_release(&out);
    free(copy);
    return 0;
}
