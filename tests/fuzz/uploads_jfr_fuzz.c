/*
 * A JFR upload in a form, or as a raw body: what is read is consistent, and its memory charge is
 * returned.
 */
#include "lib/base/clock.h"
#include "processors/correlation/known/uploads.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint64_t now = 1767225600 * NS_PER_S;

static void check(const struct upload *uploads)
{
    unsigned seen = 0;
    for (const struct upload *each = uploads; each; each = each->next) {
        if (!view_eq(each->service, VIEW("a")) || each->window.end > now ||
            (each->unread && each->next) || (seen & KIND_BIT(each->window.kind)))
            abort();
        seen |= KIND_BIT(each->window.kind);
        for (size_t i = 0; i < each->count; i++)
            if (each->ids[i].id == 0 || each->ids[i].samples == 0)
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char query[] = "name=a&format=jfr&until=1767225599";
    static char type[] = "multipart/form-data; boundary=b";
    struct opaque_request request = {.query = query,
                                     .content_type = size && data[0] == '-' ? type : NULL};
    struct buffer *payload = buffer_new(size, NULL, true);
    struct batch batch = {.encoding = BATCH_OPAQUE, .payload = payload, .opaque = &request};
    struct arena arena;
    struct budget budget;
    arena_init(&arena, 1 << 20);
    budget_init(&budget, 4 << 20);
    if (size)
        memcpy(payload->data, data, size);
    check(uploads_of_opaque(&batch, (1u << KIND_OTHER) - 1, now, &budget, &arena));
    if (budget_used(&budget) != 0)
        abort();
    arena_release(&arena);
    buffer_unref(payload);
    return 0;
}
