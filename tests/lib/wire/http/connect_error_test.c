#include "lib/wire/http/status.h"

#include "tests/support/suite.h"

#include <stdio.h>

START_TEST(the_body_has_connects_code_and_the_message_as_json)
{
    struct bytes out;
    bytes_init(&out, 4096, NULL);
    ck_assert(connect_error_encode(GRPC_INVALID_ARGUMENT, "say \"why\"\n\xff", &out));
    ck_assert(view_eq(bytes_view(&out),
                      VIEW("{\"code\":\"invalid_argument\",\"message\":\"say \\\"why\\\"\\n"
                           "\xef\xbf\xbd\"}")));
    bytes_release(&out);
}
END_TEST

START_TEST(every_code_has_its_name)
{
    static const struct {
        enum grpc_code code;
        const char *name;
    } rows[] = {{GRPC_CANCELLED, "canceled"},
                {GRPC_RESOURCE_EXHAUSTED, "resource_exhausted"},
                {GRPC_UNIMPLEMENTED, "unimplemented"},
                {GRPC_UNAVAILABLE, "unavailable"},
                {GRPC_UNAUTHENTICATED, "unauthenticated"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes out;
        char start[64];
        bytes_init(&out, 4096, NULL);
        ck_assert(connect_error_encode(rows[i].code, "", &out));
        snprintf(start, sizeof start, "{\"code\":\"%s\",\"message\":\"\"}", rows[i].name);
        ck_assert(view_eq(bytes_view(&out), view_of(start)));
        bytes_release(&out);
    }
}
END_TEST

START_TEST(where_there_is_no_room_it_says_so)
{
    size_t room = 0;
    for (;; room++) {
        struct bytes out;
        bytes_init(&out, room, NULL);
        bool good = connect_error_encode(GRPC_INTERNAL, "a message", &out);
        bytes_release(&out);
        if (good)
            break;
        ck_assert_uint_lt(room, 200);
    }
    ck_assert_uint_ge(room, strlen("{\"code\":\"internal\",\"message\":\"a message\"}"));
}
END_TEST

SUITE_MAIN("connect_error", the_body_has_connects_code_and_the_message_as_json,
           every_code_has_its_name, where_there_is_no_room_it_says_so)
