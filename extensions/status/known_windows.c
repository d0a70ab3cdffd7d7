/* Uploads of profiles as they come. */
#include "extensions/status/known_find.h"
#include "extensions/status/known_routes.h"
#include "extensions/status/reason.h"

/* Whether a window of a kind that does not confirm came before. */
static bool known_repeats(struct known_service *service, uint64_t content)
{
    for (size_t i = 0; content && i < KNOWN_BESIDE; i++)
        if (service->beside[i] == content)
            return true;
    service->beside[service->beside_count++ % KNOWN_BESIDE] = content;
    return false;
}

bool known_is_copy(const struct known_service *service, const struct watch_window *window)
{
    for (size_t i = 0; window->upload && i < KNOWN_UPLOADS; i++)
        if (service->uploads[i].upload == window->upload &&
            service->uploads[i].source != window->source)
            return true;
    return false;
}

static void known_note_upload(struct known_service *service, const struct watch_window *window)
{
    size_t at = service->upload_count++ % KNOWN_UPLOADS;
    service->uploads[at].upload = window->upload;
    service->uploads[at].source = window->source;
}

/* It holds of the spans before, too, which were decided while no profile had come. */
static void known_first_came(struct known *known, uint16_t service, uint64_t now)
{
    known_fold(known);
    known->services[service]->confirms_from = now;
    for (uint32_t i = 0; i < known->span_count; i++)
        if (known_at(known, i)->service == service)
            reason_recount(known, known_at(known, i));
}

void known_window_came(struct known *known, const struct watch_window *window)
{
    size_t at = known_service_of(known, &window->service, window->arrived);
    struct known_service *service = known->services[at];
    if (known_is_copy(service, window))
        return;
    known_note_upload(service, window);
    service->has_profiles = true;
    service->any_came = window->arrived;
    service->any_end = window->end;
    if (window->end > service->last_end)
        service->last_end = window->end;
    service->times_cpu |= window->times_cpu;
    service->hold = window->hold ? window->hold : service->hold;
    service->roots_only = window->roots_only;
    if (!service->first_came)
        service->first_came = window->arrived;
    if (window->beside) {
        service->repeats = known_repeats(service, window->content);
        return;
    }
    /* Where its spans wait for a time that is known, others came before. */
    bool missed = !service->began && known->reloaded && window->hold;
    uint64_t ahead = known_ahead(window->end, window->arrived);
    uint64_t start = window->start > ahead ? window->start - ahead : 0;
    uint32_t serial = ++known->window_serial;
    service->last_came = window->arrived;
    if (!service->began || start < service->began)
        service->began = window->start && !missed ? start : 1;
    if (window->lane)
        service->lanes |= UINT64_C(1) << known_lane(window->lane) % 64;
    if (!service->confirms_from)
        known_first_came(known, (uint16_t)at, window->arrived);
    known->windows[serial % KNOWN_WINDOWS] = (struct known_window){
        .serial = serial,
        .nth = service->windows++,
        .service = (uint16_t)at,
        .lane = known_lane(window->lane),
        .kind = window->kind,
        .start = window->start,
        .end = window->end,
        .arrived = window->arrived,
    };
}
