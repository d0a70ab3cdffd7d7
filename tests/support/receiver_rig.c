#include "tests/support/receiver_rig.h"

#include <check.h>
#include <unistd.h>

struct given_runtime given;
struct http_answer answer;
int fd;

void rig_begin(const char *yaml)
{
    receiver_start(&given, yaml);
    fd = receiver_connect("http");
}

void rig_end(void)
{
    close(fd);
    ck_assert_uint_eq(given_stop(&given), 0);
}
