/* Plans service.pipelines: what each one names, and whether its parts fit together. */
#include "pipeline/life/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pipeline_settings {
    struct key_list receivers, processors, exporters;
};

static const struct key pipeline_keys[] = {
    KEY_LIST(struct pipeline_settings, receivers, "receivers", NULL, "where the data come from"),
    KEY_LIST(struct pipeline_settings, processors, "processors", NULL,
             "what processes them, in this order"),
    KEY_LIST(struct pipeline_settings, exporters, "exporters", NULL, "where all of them go"),
    KEY_END,
};

struct planning {
    const struct node *root;
    struct graph *graph;
    struct problems *problems;
    const struct node *node; /* of the pipeline */
    char path[512];
};

static void signal_words(unsigned signals, char *out, size_t size)
{
    size_t n = 0;
    *out = '\0';
    for (int i = 0; i < SIGNAL_COUNT; i++)
        if ((signals & SIGNAL_BIT(i)) && n < size)
            n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "",
                                  signal_name((enum signal)i));
}

static void add_stage(const struct planning *plan, struct pipeline *pipeline,
                      struct instance *instance, const struct node *place)
{
    enum component_kind kind = instance->component->kind;
    struct instance_list *stage = &pipeline->stages[kind];
    if (instance_list_has(stage, instance)) {
        problems_add(plan->problems, place, plan->path, "references %s \"%s\" multiple times",
                     component_kind_name(kind), instance->id);
        return;
    }
    if (!(instance->component->signals & SIGNAL_BIT(pipeline->signal))) {
        char words[64];
        signal_words(instance->component->signals, words, sizeof words);
        problems_add(plan->problems, place, plan->path,
                     "%s \"%s\" does not support %s, it supports %s", component_kind_name(kind),
                     instance->id, signal_name(pipeline->signal), words);
        return;
    }
    instance->used = true;
    if (!instance_list_add(stage, instance))
        problems_add(plan->problems, place, plan->path, "out of memory");
}

static void plan_stage(const struct planning *plan, struct pipeline *pipeline,
                       enum component_kind kind, const struct key_list *ids)
{
    const struct node *node = node_get(plan->node, plan_section(kind));
    bool empty = !node || node->kind == NODE_NULL || (node->kind == NODE_LIST && node->count == 0);
    if (empty && kind != COMPONENT_PROCESSOR && plan->node->kind != NODE_SCALAR)
        problems_add(plan->problems, node ? node : plan->node, plan->path,
                     "must have at least one %s", component_kind_name(kind));
    for (size_t i = 0; i < ids->count; i++) {
        const struct node place = plan_entry(node, ids, i);
        struct instance *instance =
            plan_resolve(plan->root, plan->graph, kind, &place, plan->path, plan->problems);
        if (instance)
            add_stage(plan, pipeline, instance, &place);
    }
}

static unsigned encodings_of(const struct instance_list *stage)
{
    unsigned encodings = 0;
    for (size_t i = 0; i < stage->count; i++) {
        const struct component *component = stage->items[i]->component;
        encodings |= component->kind == COMPONENT_EXPORTER ? component_takes(component)
                                                           : component->encodings;
    }
    return encodings;
}

/* Every receiver needs an exporter that accepts something it makes, and every exporter a receiver
 * that makes something it accepts. Other data are refused on arrival. */
static void check_encodings(const struct planning *plan, const struct pipeline *pipeline)
{
    const struct instance_list *receivers = &pipeline->stages[COMPONENT_RECEIVER];
    const struct instance_list *exporters = &pipeline->stages[COMPONENT_EXPORTER];
    unsigned made = encodings_of(receivers), taken = encodings_of(exporters);
    char makes[96], takes[96];
    if (!made || !taken)
        return;
    for (size_t i = 0; i < receivers->count; i++) {
        const struct instance *receiver = receivers->items[i];
        batch_encoding_words(receiver->component->encodings, " and ", makes, sizeof makes);
        batch_encoding_words(taken, " and ", takes, sizeof takes);
        if (!(receiver->component->encodings & taken))
            problems_add(plan->problems, node_get(plan->node, "receivers"), plan->path,
                         "receiver \"%s\" makes %s, which no exporter takes (they take %s)",
                         receiver->id, makes, takes);
    }
    for (size_t i = 0; i < exporters->count; i++) {
        const struct instance *exporter = exporters->items[i];
        batch_encoding_words(made, " and ", makes, sizeof makes);
        batch_encoding_words(component_takes(exporter->component), " and ", takes, sizeof takes);
        if (!(component_takes(exporter->component) & made))
            problems_add(plan->problems, node_get(plan->node, "exporters"), plan->path,
                         "exporter \"%s\" takes %s, which no receiver makes (they make %s)",
                         exporter->id, takes, makes);
    }
}

static void plan_stages(const struct planning *plan, struct pipeline *pipeline)
{
    struct pipeline_settings settings = {0};
    /* What can be read is checked even if a key is faulty. */
    keys_fill(pipeline_keys, plan->node, plan->node, plan->path, &settings, plan->problems);
    plan_stage(plan, pipeline, COMPONENT_RECEIVER, &settings.receivers);
    plan_stage(plan, pipeline, COMPONENT_PROCESSOR, &settings.processors);
    plan_stage(plan, pipeline, COMPONENT_EXPORTER, &settings.exporters);
    check_encodings(plan, pipeline);
    keys_release(pipeline_keys, &settings);
}

static bool pipeline_signal(const char *name, enum signal *signal)
{
    char word[32];
    size_t n = strcspn(name, "/");
    if (n >= sizeof word || (name[n] == '/' && name[n + 1] == '\0'))
        return false;
    memcpy(word, name, n);
    word[n] = '\0';
    return signal_parse(word, signal);
}

static void plan_pipeline(struct planning *plan)
{
    struct graph *graph = plan->graph;
    struct pipeline *pipeline = &graph->pipelines[graph->pipeline_count];
    snprintf(plan->path, sizeof plan->path, "service.pipelines.%s", plan->node->key);
    if (!pipeline_signal(plan->node->key, &pipeline->signal)) {
        problems_add(plan->problems, plan->node, plan->path,
                     "\"%s\" is not a pipeline, expected traces, metrics, logs or profiles, with "
                     "/name if there are several",
                     plan->node->key);
        return;
    }
    pipeline->name = strdup(plan->node->key);
    graph->pipeline_count++;
    if (!pipeline->name)
        problems_add(plan->problems, plan->node, plan->path, "out of memory");
    plan_stages(plan, pipeline);
}

static void check_places(const struct graph *graph, struct problems *problems)
{
    for (size_t i = 0; i < graph->instances.count; i++) {
        const struct instance *instance = graph->instances.items[i];
        const struct component *component = instance->component;
        if (!instance->used || !component->misplaced || component->kind == COMPONENT_EXTENSION)
            continue;
        bool severe = false;
        const char *wrong =
            component->misplaced(instance->self, graph_signals(graph, instance), &severe);
        if (wrong && component->misplaced_refused)
            problems_add(problems, instance->section, instance->path, "%s", wrong);
        else if (wrong)
            problems_warn(problems, severe, instance->section, instance->path, "%s", wrong);
    }
}

static bool names_header(const struct instance *instance, const char *header)
{
    const char *name;
    for (size_t i = 0; (name = instance->component->header(instance->self, i)); i++)
        if (strcasecmp(name, header) == 0)
            return true;
    return false;
}

/* A processor in front that merges requests, after which the header is not known. */
static const struct instance *merger_of(const struct instance_list *processors, size_t count,
                                        const char *header)
{
    bool kept =
        strcasecmp(header, "X-Scope-OrgID") == 0 || strcasecmp(header, "Authorization") == 0;
    for (size_t i = 0; i < count && !kept; i++) {
        const struct instance *processor = processors->items[i];
        if (processor->component->takes_over && processor->component->header &&
            !names_header(processor, header))
            return processor;
    }
    return NULL;
}

/* Headers that a processor reads and that are not there. */
static void check_headers(const struct pipeline *pipeline, struct problems *problems)
{
    const struct instance_list *receivers = &pipeline->stages[COMPONENT_RECEIVER];
    const struct instance_list *processors = &pipeline->stages[COMPONENT_PROCESSOR];
    bool given = false;
    for (size_t i = 0; i < receivers->count; i++)
        given = given || instance_metadata(receivers->items[i]) != METADATA_OF_NONE;
    for (size_t i = 0; i < processors->count; i++) {
        const struct instance *processor = processors->items[i];
        const char *name;
        for (size_t k = 0; processor->component->header &&
                           (name = processor->component->header(processor->self, k));
             k++) {
            const struct instance *merger = merger_of(processors, i, name);
            bool address = strcmp(name, "client.address") == 0;
            if (!given && !address)
                problems_warn(problems, false, processor->section, processor->path,
                              "the header %.80s is not known in pipeline %s: no receiver of it has "
                              "include_metadata: true",
                              name, pipeline->name);
            else if (merger)
                problems_warn(problems, false, processor->section, processor->path,
                              "%s%.80s is not known behind %s in pipeline %s%s",
                              address ? "" : "the header ", name, merger->id, pipeline->name,
                              address ? "" : ": its metadata_keys do not have it");
        }
    }
}

/* Tenants, for example, are told apart only where all data say theirs. */
static void check_metadata(const struct pipeline *pipeline, struct problems *problems)
{
    const struct instance_list *receivers = &pipeline->stages[COMPONENT_RECEIVER];
    const struct instance *with = NULL, *without = NULL;
    for (size_t i = 0; i < receivers->count; i++) {
        const struct instance *receiver = receivers->items[i];
        enum metadata_of has = instance_metadata(receiver);
        if (has != METADATA_OF_NONE)
            with = receiver;
        if (has != METADATA_OF_ALL && receiver->component->metadata)
            without = receiver;
    }
    if (!with || !without)
        return;
    problems_warn(problems, false, without->section, without->path,
                  "some data of pipeline %s have an X-Scope-OrgID, but not all of this receiver's "
                  "(include_metadata), so tenants are not told apart",
                  pipeline->name);
}

void plan_pipelines(const struct node *root, struct graph *graph, struct problems *problems)
{
    struct planning plan = {.root = root, .graph = graph, .problems = problems};
    const struct node *service = node_get(root, "service");
    const struct node *pipelines = node_get(service, "pipelines");
    const struct node *place = pipelines ? pipelines : service ? service : root;
    if (!pipelines || pipelines->kind != NODE_MAP || pipelines->count == 0) {
        problems_add(problems, place, "service.pipelines",
                     "service must have at least one pipeline");
        return;
    }
    graph->pipelines = calloc(pipelines->count, sizeof *graph->pipelines);
    if (!graph->pipelines) {
        problems_add(problems, place, "service.pipelines", "out of memory");
        return;
    }
    for (size_t i = 0; i < pipelines->count; i++) {
        plan.node = pipelines->items[i];
        plan_pipeline(&plan);
    }
    check_places(graph, problems);
    for (size_t i = 0; i < graph->pipeline_count; i++) {
        check_headers(&graph->pipelines[i], problems);
        check_metadata(&graph->pipelines[i], problems);
    }
    plan_order(graph, problems);
}
