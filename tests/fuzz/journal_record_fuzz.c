/* A record of the journal: what is read must survive being written and read again. */
#include "pipeline/graph/journal_record.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct batch *batch)
{
    struct bytes record;
    struct view receiver;
    const char *reason;
    if (!journal_record_begin(batch, "a", &record) ||
        bytes_append_view(&record, buffer_view(batch->payload)) != BYTES_OK)
        abort();
    struct batch *again = journal_record_read(bytes_view(&record), NULL, &receiver, &reason);
    if (!again || again->items != batch->items || !view_eq(receiver, VIEW("a")) ||
        !view_eq(buffer_view(again->payload), buffer_view(batch->payload)))
        abort();
    batch_unref(again);
    bytes_release(&record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view receiver;
    const char *reason;
    struct batch *batch = journal_record_read((struct view){data, size}, NULL, &receiver, &reason);
    if (batch)
        check_again(batch);
    batch_unref(batch);
    return 0;
}
