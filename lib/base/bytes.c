#include "lib/base/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void bytes_init(struct bytes *bytes, size_t max, struct budget *budget)
{
    *bytes = (struct bytes){.max = max, .budget = budget};
}

static size_t grown(const struct bytes *bytes, size_t need)
{
    size_t capacity = bytes->capacity < 128 ? 256 : bytes->capacity + bytes->capacity / 2;
    if (capacity < need)
        capacity = need;
    return capacity > bytes->max ? bytes->max : capacity;
}

/* Beyond a share it only takes what nobody else needs. */
static bool bytes_take(const struct bytes *bytes, size_t capacity)
{
    size_t more = capacity - bytes->capacity;
    return capacity > budget_share(bytes->budget) ? budget_take_spare(bytes->budget, more)
                                                  : budget_take(bytes->budget, more);
}

enum bytes_result bytes_reserve(struct bytes *bytes, size_t extra)
{
    if (extra > bytes->max || bytes->size > bytes->max - extra)
        return BYTES_FULL;
    size_t need = bytes->size + extra;
    if (need <= bytes->capacity)
        return BYTES_OK;
    size_t capacity = grown(bytes, need);
    if (!bytes_take(bytes, capacity)) {
        capacity = need;
        if (!bytes_take(bytes, capacity))
            return BYTES_NO_MEMORY;
    }
    uint8_t *data = realloc(bytes->data, capacity);
    if (!data) {
        budget_give(bytes->budget, capacity - bytes->capacity);
        return BYTES_NO_MEMORY;
    }
    bytes->data = data;
    bytes->capacity = capacity;
    return BYTES_OK;
}

enum bytes_result bytes_append(struct bytes *bytes, const void *data, size_t n)
{
    enum bytes_result result = bytes_reserve(bytes, n);
    if (result == BYTES_OK && n) {
        memcpy(bytes->data + bytes->size, data, n);
        bytes->size += n;
    }
    return result;
}

enum bytes_result bytes_append_view(struct bytes *bytes, struct view view)
{
    return bytes_append(bytes, view.data, view.size);
}

enum bytes_result bytes_printf(struct bytes *bytes, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int need = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (need < 0)
        return BYTES_FULL;
    enum bytes_result result = bytes_reserve(bytes, (size_t)need + 1);
    if (result != BYTES_OK)
        return result;
    va_start(args, format);
    vsnprintf((char *)bytes->data + bytes->size, (size_t)need + 1, format, args);
    va_end(args);
    bytes->size += (size_t)need;
    return BYTES_OK;
}

void bytes_clear(struct bytes *bytes)
{
    bytes->size = 0;
}

void bytes_release(struct bytes *bytes)
{
    free(bytes->data);
    budget_give(bytes->budget, bytes->capacity);
    bytes->data = NULL;
    bytes->size = bytes->capacity = 0;
}
