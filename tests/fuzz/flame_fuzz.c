/*
 * Draws a profile as a flame graph. The first byte is its format: a pprof, an OTLP profiles
 * request, or a body of /ingest (JFR, JFR in a form, folded text). Totals add up, what is written
 * can be read again, and the memory charge is returned.
 */
#include "extensions/status/flame_add.h"
#include "extensions/status/flame_write.h"
#include "lib/wire/otlp/otlp.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PPROF, OTLP, JFR, FORM, FOLDED, LINES, KINDS };

static void add(struct flame *flame, unsigned kind, struct view body)
{
    static const char *const queries[] = {
        [JFR] = "name=a&format=jfr",
        [FORM] = "name=a&format=jfr&sampleRate=7",
        [FOLDED] = "name=a.cpu",
        [LINES] = "name=a.objects&format=lines",
    };
    struct flame_source source = {.raw = body, .arrived = 7};
    struct proto_fault fault;
    uint32_t items;
    if (kind == PPROF && proto_check(&shape_pprof, body, &fault))
        flame_add_pprof(flame, &source);
    else if (kind == OTLP && otlp_check(SIGNAL_PROFILES, body, &items, &fault))
        flame_add_otlp(flame, body, 7);
    else if (kind >= JFR)
        flame_add_ingest(flame, queries[kind],
                         kind == FORM ? "multipart/form-data; boundary=b" : "", body, 7);
}

/* Every node's total is its own value and its children's, at most INT64_MAX. */
static void check_totals(const struct flame *flame)
{
    const struct flame_node *nodes = (const void *)flame->nodes.data;
    size_t count = flame->nodes.size / sizeof *nodes;
    int64_t *sums = calloc(count + 1, sizeof *sums);
    for (size_t i = count; sums && i-- > 0;) {
        sums[i] += nodes[i].self;
        if (flame_total(flame, i) != sums[i] || (i && nodes[i].parent >= i))
            abort();
        if (i)
            sums[nodes[i].parent] += sums[i];
    }
    free(sums);
}

static void check_texts(struct flame *flame, struct budget *budget)
{
    struct bytes out;
    struct proto_fault fault;
    bytes_init(&out, 32 << 20, budget);
    flame_write_all(flame, FLAME_JSON, VIEW(""), &out);
    bytes_clear(&out);
    flame_write_all(flame, FLAME_FOLDED, VIEW(""), &out);
    bytes_clear(&out);
    flame_write_all(flame, FLAME_SVG, VIEW("title"), &out);
    bytes_clear(&out);
    if (flame_write_all(flame, FLAME_PPROF, VIEW(""), &out) &&
        !proto_check(&shape_pprof, bytes_view(&out), &fault))
        abort();
    bytes_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct flame_id ids[] = {{1, 0}, {UINT64_C(0x0123456789abcdef), 0}};
    struct flame_filter filter = {.type = "", .to = UINT64_MAX};
    struct budget budget;
    struct flame flame;
    if (size == 0)
        return 0;
    if (data[0] & 0x80) {
        filter.ids = ids;
        filter.id_count = sizeof ids / sizeof *ids;
    }
    budget_init(&budget, 256 << 20);
    flame_init(&flame, &filter, &budget);
    add(&flame, (data[0] & 0x7f) % KINDS, (struct view){data + 1, size - 1});
    flame_finish(&flame);
    if (!flame.failed) {
        check_totals(&flame);
        check_texts(&flame, &budget);
    }
    flame_release(&flame);
    if (budget_used(&budget) != 0)
        abort();
    return 0;
}
