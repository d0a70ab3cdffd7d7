/* Handles an export request, independent of the protocol. */
#include "receivers/otlp/otlp.h"

#include "pipeline/client_info.h"

#include <stdlib.h>

static void export_count_refused(const struct otlp_export *export, const struct outcome *why,
                                 uint32_t items)
{
    const struct refusal refusal = {.transport = export->transport->transport,
                                    .signal = (int)export->signal,
                                    .why = why,
                                    .items = items,
                                    .samples = items ? export->read.samples : 0,
                                    .peer = export->transport->peer(export)};
    meter_refused(export->self->env->meter, &refusal);
}

void otlp_export_refuse(const struct otlp_export *export, const struct outcome *why)
{
    export_count_refused(export, why, export->read.received);
    export->transport->refuse(export, why);
}

/* Items rejected by the check, plus those rejected by a backend whose response was waited for. */
static uint32_t rejected_items(const struct otlp_export *export, const struct outcome *outcome)
{
    uint32_t offered = export->read.received - export->read.rejected;
    uint32_t more = outcome->rejected < offered ? outcome->rejected : offered;
    return export->read.rejected + more;
}

static void export_answer(const struct otlp_export *export, const struct outcome *outcome)
{
    if (outcome->verdict != VERDICT_OK) {
        otlp_export_refuse(export, outcome);
        return;
    }
    uint32_t rejected = rejected_items(export, outcome);
    const char *reason = export->read.reason ? export->read.reason : outcome->text;
    meter_accepted(export->self->env->meter, export->transport->transport, export->signal,
                   export->read.received - rejected);
    if (export->read.samples && !rejected)
        meter_accepted_samples(export->self->env->meter, export->transport->transport,
                               export->read.samples);
    if (rejected) {
        struct outcome why = outcome_of(VERDICT_OK, CAUSE_INVALID, "%s", reason);
        export_count_refused(export, &why, rejected);
    }
    export->transport->succeed(export, rejected, rejected ? reason : NULL);
}

static void done(void *ctx, const struct outcome *outcome)
{
    struct otlp_export *export = ctx;
    export_answer(export, outcome);
    free(export);
}

static bool set_metadata(const struct otlp_export *export)
{
    bool failed = false;
    if (!export->transport->sends_metadata_on(export->self))
        return true;
    struct view tenant = view_of(export->transport->header(export, "X-Scope-OrgID"));
    struct view authorization = {0};
    if (!export->transport->checks_clients(export->self))
        authorization = view_of(export->transport->header(export, "Authorization"));
    batch_set_metadata(export->read.batch, metadata_new(tenant, authorization, &failed));
    return !failed;
}

/* False: no memory. */
static bool set_client(const struct otlp_export *export)
{
    char address[PEER_TEXT];
    struct view headers = {0};
    if (!client_info_wanted())
        return true;
    if (export->transport->sends_metadata_on(export->self))
        headers = export->transport->headers(export);
    peer_address_text(export->transport->peer(export), address);
    struct client_info *client = client_info_new(address, headers);
    batch_set_client(export->read.batch, client);
    return client;
}

static void export_offer(const struct otlp_export *export)
{
    struct batch *batch = export->read.batch;
    struct intake *intake = export->self->env->intakes[export->signal];
    struct otlp_export *pending = malloc(sizeof *pending);
    if (pending && set_metadata(export) && set_client(export)) {
        *pending = *export;
        intake_accept(intake, batch, done, pending);
    } else {
        struct outcome outcome = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
        free(pending);
        export_answer(export, &outcome);
    }
    batch_unref(batch);
}

void otlp_export_run(struct otlp_export *export, struct bytes *message)
{
    struct outcome outcome =
        otlp_request_read(export->signal, export->json, message, &export->read);
    if (outcome.verdict == VERDICT_OK && export->read.batch)
        export_offer(export);
    else
        export_answer(export, &outcome);
}

int otlp_export_signal(const char *path, const char *const paths[])
{
    int signal = 0;
    while (signal < SIGNAL_COUNT && strcmp(path, paths[signal]) != 0)
        signal++;
    return signal;
}

struct outcome otlp_outcome_no_pipeline(enum signal signal)
{
    return outcome_of(VERDICT_REJECT, CAUSE_NO_PIPELINE, "no pipeline for %s uses this receiver",
                      signal_name(signal));
}
