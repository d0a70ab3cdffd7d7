/* GET /api/config: the configuration with secrets redacted, and the defaults in effect; and the
 * documentation of components. */
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

/* GET /docs/{kind}s/{type}: a component's keys as text. */
void docs_answer(struct status *self, struct http_request *request, const char *path)
{
    struct bytes text;
    bytes_init(&text, CONFIG_MAX, self->env->budget);
    if (components_describe(path, &text)) {
        answer_headers(request, true);
        http_respond(request, 200, "text/plain; charset=utf-8", bytes_view(&text), 0);
    } else {
        answer_error(request, 404, "there is no such component");
    }
    bytes_release(&text);
}
