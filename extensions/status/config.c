/* GET /api/config: the configuration with secrets redacted, and the defaults in effect. */
#include "extensions/status/status.h"

#define CONFIG_MAX ((size_t)4 << 20)

static void put_default(void *ctx, const struct runtime_default *found)
{
    struct json *json = ctx;
    json_open(json, NULL, '{');
    json_word(json, "path", found->path);
    json_word(json, "value", found->value);
    json_word(json, "text", found->text);
    json_close(json, '}');
}

void config_answer(struct status *self, struct http_request *request)
{
    char error[ANSWER_ERROR];
    struct bytes yaml, out;
    if (!answer_parameters(http_request_query(request), (const struct parameter[]){{0}}, error)) {
        answer_error(request, 400, error);
        return;
    }
    bytes_init(&yaml, CONFIG_MAX, self->env->budget);
    bytes_init(&out, ANSWER_MAX, self->env->budget);
    runtime_config(self->env->runtime, &yaml);
    struct json json = json_begin(&out);
    json_open(&json, NULL, '{');
    json_text(&json, "yaml", bytes_view(&yaml));
    json_open(&json, "defaults", '[');
    runtime_defaults(self->env->runtime, put_default, &json);
    json_close(&json, ']');
    json_close(&json, '}');
    bytes_release(&yaml);
    answer_json(request, &json);
}
