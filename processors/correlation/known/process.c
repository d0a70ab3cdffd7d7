#include "processors/correlation/known/process.h"

#include "lib/base/clock.h"
#include "lib/wire/otlp/otlp_attribute.h"
#include "processors/correlation/known/services.h"

#include <stdlib.h>

/* How many spans with samples it takes to consider a process the only one of its resource. */
enum { MATCHES_IDENTIFIED = 2, MATCHES = 8 };

uint64_t process_hash(struct view bytes)
{
    uint64_t hash = UINT64_C(14695981039346656037), word;
    size_t at = 0;
    for (; at + sizeof word <= bytes.size; at += sizeof word) {
        memcpy(&word, bytes.data + at, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    for (; at < bytes.size; at++)
        hash = (hash ^ bytes.data[at]) * UINT64_C(1099511628211);
    return hash ^ hash >> 29;
}

static bool process_says(struct view entry, struct view name)
{
    return otlp_resource_has(entry, name);
}

static void correlation_process_begin(struct process *process, uint64_t resource, struct view entry,
                                      uint64_t mono)
{
    static const struct {
        const char *word;
    } languages[] = {{"nodejs"}, {"python"}, {"go"}, {"java"}, {"ruby"}, {"dotnet"}, {"rust"}};
    struct service *service = process->service;
    struct view language = otlp_resource_attribute(entry, VIEW("telemetry.sdk.language"));
    process->resource = resource;
    process->first_seen = mono;
    process->identified = process_says(entry, VIEW("service.instance.id")) ||
                          process_says(entry, VIEW("process.pid"));
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++)
        if (view_eq(language, view_of(languages[i].word)))
            service->language = languages[i].word;
    if (view_eq(language, VIEW("nodejs")))
        service->from_node = true;
}

static void put_first(struct service *service, struct process *process)
{
    struct process **at = &service->processes;
    while (*at && *at != process)
        at = &(*at)->next;
    if (*at)
        *at = process->next;
    process->next = service->processes;
    service->processes = process;
}

static struct process *correlation_process_find(const struct service *service, uint64_t resource)
{
    struct process *each = service->processes, *shared = NULL;
    for (; each && each->resource != resource; each = each->next)
        if (each->shared)
            shared = each;
    return each ? each : shared;
}

/* Reuses the least recently seen process that has nothing waiting; else the most recently seen one
 * is shared by all that follow. */
static struct process *reuse(struct service *service)
{
    struct process *idle = NULL;
    for (struct process *each = service->processes; each; each = each->next)
        if (!each->oldest)
            idle = each;
    if (!idle) {
        service->processes->shared = true;
        service->processes->identified = false;
        return service->processes;
    }
    struct process *next = idle->next;
    *idle = (struct process){.next = next, .service = service};
    return idle;
}

struct process *process_see(struct service *service, uint64_t resource, struct view entry,
                            uint64_t mono, struct budget *budget)
{
    struct process *process = correlation_process_find(service, resource);
    if (!process && service->process_count == PROCESSES_MAX) {
        process = reuse(service);
        if (!process->shared)
            correlation_process_begin(process, resource, entry, mono);
    } else if (!process) {
        process = calloc(1, sizeof *process);
        if (!process)
            return NULL;
        budget_force(budget, sizeof *process);
        process->service = service;
        correlation_process_begin(process, resource, entry, mono);
        service->process_count++;
    }
    if (service->processes != process)
        put_first(service, process);
    return process;
}

void processes_release(struct service *service, struct budget *budget)
{
    while (service->processes) {
        struct process *next = service->processes->next;
        budget_give(budget, sizeof *next);
        free(service->processes);
        service->processes = next;
    }
    service->process_count = 0;
}

/* Whether one sequence replaced the other, as when a process was idle for long. */
static bool follows(const struct sequence *before, const struct sequence *after)
{
    return before && before->frontier <= after->begun;
}

void process_note_match(struct process *process, struct timeline *timeline, uint32_t serial,
                        uint64_t mono)
{
    struct sequence *sequence = timeline_find(timeline, serial);
    if (!sequence)
        return;
    sequence_note_owner(sequence, process->resource, mono);
    if (process->sequence == serial) {
        process->matches++;
        return;
    }
    if (process->sequence && !follows(timeline_find(timeline, process->sequence), sequence))
        process->mixed = mono;
    process->sequence = serial;
    process->matches = 1;
}

bool process_is_bound(const struct process *process, uint64_t mono, uint64_t remember)
{
    unsigned wanted = process->identified ? MATCHES_IDENTIFIED : MATCHES;
    bool mixed = process->mixed && mono - process->mixed <= remember;
    return process->matches >= wanted && !mixed && !process->shared;
}
