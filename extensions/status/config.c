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

static void write_config(void *ctx, struct json *json)
{
    struct status *self = ctx;
    struct bytes yaml;
    bytes_init(&yaml, CONFIG_MAX, NULL);
    runtime_config(self->env->runtime, &yaml);
    json_open(json, NULL, '{');
    json_text(json, "yaml", bytes_view(&yaml));
    json_open(json, "defaults", '[');
    runtime_defaults(self->env->runtime, put_default, json);
    json_close(json, ']');
    json_close(json, '}');
    bytes_release(&yaml);
}

void config_answer(struct status *self, struct http_request *request)
{
    if (answer_has_none(request))
        answer_surely(request, &self->small_answers, ANSWER_MAX, write_config, self);
}

/* GET /docs/{kind}s/{type}: a component's keys as text. */
void docs_answer(struct status *self, struct http_request *request, const char *path)
{
    struct bytes text;
    if (!answer_has_none(request))
        return;
    bytes_init(&text, CONFIG_MAX, self->env->budget);
    if (components_describe(path, &text)) {
        answer_headers(request, true);
        http_respond(request, 200, "text/plain; charset=utf-8", bytes_view(&text), 0);
    } else {
        answer_error(request, 404, "there is no such component");
    }
    bytes_release(&text);
}
