/* GET /api/services. */
#include "extensions/status/status.h"

void services_answer(struct status *self, struct http_request *request)
{
    (void)self;
    answer_error(request, 503, "not yet");
}
void cost_answer(struct status *self, struct http_request *request)
{
    (void)self;
    answer_error(request, 503, "not yet");
}
void pipelines_answer(struct status *self, struct http_request *request)
{
    (void)self;
    answer_error(request, 503, "not yet");
}
void config_answer(struct status *self, struct http_request *request)
{
    (void)self;
    answer_error(request, 503, "not yet");
}
