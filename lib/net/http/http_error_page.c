/*
 * Plain sentences in place of libmicrohttpd's own error pages, which no option changes: the
 * function that makes their response is wrapped here (CMakeLists.txt: --wrap), under both names
 * that it has had. A shared libmicrohttpd keeps its pages.
 */
#include "lib/net/http/http_internal.h"

#include <assert.h>
#include <string.h>

#include "lib/net/http/http_head.h"

typedef struct MHD_Response *create_fn(size_t size, void *data, enum MHD_ResponseMemoryMode mode);
typedef struct MHD_Response *create_static_fn(size_t size, const void *data);
typedef size_t read_number_fn(const char *text, size_t size, uint64_t *number);

create_fn create_real __asm__("__real_MHD_create_response_from_buffer");
create_fn create_wrapped __asm__("__wrap_MHD_create_response_from_buffer");
read_number_fn read_number_wrapped __asm__("__wrap_MHD_str_to_uint64_n_");
create_static_fn create_static_wrapped __asm__("__wrap_MHD_create_response_from_buffer_static");

static const struct {
    const char *title, *sentence;
} pages[] = {
    {"Request too big", "the request line and headers are too long, together at most 32 KiB\n"},
    {"Requested HTTP version is not supported", "expected HTTP/1.0 or HTTP/1.1\n"},
    {"&quot;Host:&quot; header required", "the Host header is missing\n"},
    {"Request content too large", "Content-Length or a chunk is too large\n"},
    {"Internal server error", "internal error\n"},
    {"", "malformed HTTP request\n"},
};
static_assert(HTTP_CONNECTION_MEMORY == 32 << 10, "the first page names it");

/* NULL: not an error page of the library. */
static const char *sentence_for(const char *page, size_t size)
{
    static const char prefix[] = "<html><head><title>";
    size_t n = sizeof prefix - 1;
    if (size < n || memcmp(page, prefix, n) != 0)
        return NULL;
    for (size_t i = 0;; i++) {
        size_t title = strlen(pages[i].title);
        if (size - n >= title && memcmp(page + n, pages[i].title, title) == 0)
            return pages[i].sentence;
    }
}

/* Calls to MHD_create_response_from_buffer of a static libmicrohttpd come here, and ours. */
struct MHD_Response *create_wrapped(size_t size, void *data, enum MHD_ResponseMemoryMode mode)
{
    const char *sentence = mode == MHD_RESPMEM_PERSISTENT ? sentence_for(data, size) : NULL;
    if (!sentence)
        return create_real(size, data, mode);
    struct MHD_Response *response =
        create_real(strlen(sentence), (void *)sentence, MHD_RESPMEM_PERSISTENT);
    if (response)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain");
    return response;
}

/*
 * The library's reader of decimal numbers, which it uses for Content-Length only. 0.9 goes on after
 * its error page, and sends a second one, so this one refuses nothing: http_request_headers() does.
 * Returns how many characters were read.
 */
size_t read_number_wrapped(const char *text, size_t size, uint64_t *number)
{
    if (!http_head_length((struct view){(const uint8_t *)text, size}, number))
        *number = 0;
    return size;
}

/* Since libmicrohttpd 1.0. */
struct MHD_Response *create_static_wrapped(size_t size, const void *data)
{
    return create_wrapped(size, (void *)data, MHD_RESPMEM_PERSISTENT);
}
