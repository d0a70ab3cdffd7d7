#include "lib/net/http/http_follow.h"

#include "tests/support/suite.h"

START_TEST(credentials_stay_with_their_host)
{
    static const struct {
        const char *from, *to;
        bool keeps;
    } rows[] = {
        {"http://a.example/x", "http://a.example/y", true},
        {"http://a.example/x", "http://A.example:81/y", true},
        {"http://a.example/x", "http://b.a.example/y", true},
        {"http://a.example/x", "https://a.example/y", true},
        {"https://a.example/x", "http://a.example/y", false},
        {"http://a.example/x", "http://example/y", false},
        {"http://a.example/x", "http://ba.example/y", false},
        {"http://a.example/x", "http://b.example/y", false},
        {"http://[::1]/x", "http://[::1]:81/y", true},
        {"http://127.0.0.1/x", "http://localhost/y", false},
        {"http://a/x", "http://a@b/y", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(http_follow_keeps_credentials(rows[i].from, rows[i].to) == rows[i].keeps,
                      "%s %s", rows[i].from, rows[i].to);
}
END_TEST

SUITE_MAIN("http_follow", credentials_stay_with_their_host)
