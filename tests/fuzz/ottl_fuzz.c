/* OTTL statements and conditions: parsed, bound to every context, and run over a small request,
 * with the same result whether or not attributes that they do not look for are left out. */
#include "lib/ottl/ottl.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A request of one span with an event: enough for every kind of path. */
static const uint8_t request[] = {
    0x0a, 0x57,                                                            /* ResourceSpans */
    0x0a, 0x0a, 0x0a, 0x08, 0x0a, 0x01, 'a',  0x12, 0x03, 0x0a, 0x01, 'b', /* Resource */
    0x12, 0x49,                                                            /* ScopeSpans */
    0x0a, 0x03, 0x0a, 0x01, 's',                                           /* scope */
    0x12, 0x42,                                                            /* Span */
    0x0a, 0x10, 1,    2,    3,    4,    5,    6,    7,    8,    9,    10,
    11,   12,   13,   14,   15,   16,                                      /* trace id */
    0x12, 0x08, 1,    2,    3,    4,    5,    6,    7,    8,               /* span id */
    0x2a, 0x05, 'G',  'E',  'T',  ' ',  '/',                               /* name */
    0x30, 0x02,                                                            /* kind */
    0x4a, 0x0a, 0x0a, 0x01, 'n',  0x12, 0x05, 0x0a, 0x03, '1',  '2',  '3', /* attribute */
    0x4a, 0x07, 0x0a, 0x01, 'i',  0x12, 0x02, 0x18, 0x07,                  /* attribute */
    0x5a, 0x04, 0x12, 0x02, 'e',  'v',                                     /* event */
};

static uint64_t no_time(const struct clock *clock)
{
    (void)clock;
    return UINT64_C(1700000000000000000);
}

static const struct clock still = {.wall = no_time, .mono = no_time};

struct run_of {
    const struct ottl *ottl;
    enum ottl_context context;
};

static enum edit_verdict step(void *ctx, struct request_edit *at, enum edit_level level)
{
    const struct run_of *of = ctx;
    struct ottl_run run;
    (void)level;
    ottl_run_begin(&run, at, of->context, &still);
    (void)ottl_eval(of->ottl, &run);
    return EDIT_KEEP;
}

/* What it makes of the request, to be freed; data NULL: no room. */
static struct view run(const struct ottl *ottl, enum ottl_context context,
                       const struct key_sieve *sieves)
{
    struct arena arena;
    struct splice splice;
    struct run_of of = {ottl, context};
    struct request_edit edit = {.signal = SIGNAL_TRACES,
                                .levels = EDIT_BIT(ottl_level(context)),
                                .late_heads = ottl_reaches_out(ottl),
                                .sieves = sieves,
                                .step = step,
                                .ctx = &of};
    struct view view = {request, sizeof request}, made = {0};
    arena_init(&arena, (size_t)8 << 20);
    splice_begin(&splice, view, &arena);
    if (request_edit(&edit, view, &splice)) {
        struct proto_fault fault;
        uint32_t items;
        made = (struct view){malloc(splice_size(&splice) + 1), splice_size(&splice)};
        splice_write(&splice, (uint8_t *)made.data);
        /* A statement may write text that is no UTF-8; the form holds all the same. */
        (void)otlp_check(SIGNAL_TRACES, made, &items, &fault);
    }
    arena_release(&arena);
    return made;
}

static void compare(const struct ottl *ottl, enum ottl_context context)
{
    struct key_sieve sieves[EDIT_LEVELS] = {0};
    ottl_sieve(ottl, sieves);
    struct view all = run(ottl, context, NULL), sought = run(ottl, context, sieves);
    if (all.data && sought.data && !view_eq(all, sought))
        abort();
    free((void *)all.data);
    free((void *)sought.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ottl_fault fault;
    struct view text = {data, size};
    for (int kind = OTTL_STATEMENT; kind <= OTTL_CONDITION; kind++)
        for (int context = OTTL_RESOURCE; context < OTTL_CONTEXTS; context++) {
            struct ottl *ottl = ottl_parse((enum ottl_kind)kind, text, &fault);
            if (!ottl)
                break;
            bool bound = ottl_bind(ottl, (enum ottl_context)context, context % 2, &fault);
            if (bound && ottl_context_fits((enum ottl_context)context, SIGNAL_TRACES))
                compare(ottl, (enum ottl_context)context);
            ottl_free(ottl);
        }
    return 0;
}
