#include "lib/wire/pprof/speedscope.h"

#include "tests/support/suite.h"

#include <stdio.h>

#define HEAD                                                                                       \
    "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"x\","
#define FRAMES "\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":\"b\",\"file\":\"f\"}]}"
#define FILE_OF(profiles)                                                                          \
    HEAD "\"profiles\":[" profiles "]," FRAMES ",\"name\":null,\"activeProfileIndex\":0}"
#define EVENTED(events)                                                                            \
    FILE_OF("{\"type\":\"evented\",\"name\":\"p\",\"unit\":\"milliseconds\",\"startValue\":0,"     \
            "\"endValue\":9,\"events\":[" events "]}")
#define EVENT(type, frame, at) "{\"type\":\"" type "\",\"frame\":" frame ",\"at\":" at "}"
#define SAMPLED(samples, weights)                                                                  \
    FILE_OF("{\"type\":\"sampled\",\"unit\":\"none\",\"samples\":[" samples                        \
            "],\"weights\":[" weights "]}")

static struct speedscope read(const char *text)
{
    struct speedscope file;
    struct bytes stack;
    bytes_init(&stack, 1 << 16, NULL);
    ck_assert(speedscope_read(&file, view_of(text), &stack));
    bytes_release(&stack);
    return file;
}

START_TEST(what_the_server_takes_is_taken)
{
    static const char *const files[] = {
        FILE_OF(""),
        EVENTED(""),
        EVENTED(EVENT("O", "0", "0") "," EVENT("O", "1", "2.5") "," EVENT("C", "1", "3") "," EVENT(
            "C", "0", "3")),
        EVENTED(EVENT("O", "0", "0")), /* one that stays open */
        SAMPLED("[0,1],[],[1.9]", "1,0,2"),
        SAMPLED("", ""),
        HEAD "\"profiles\":null}",
        "\n " EVENTED("") " \n",
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct speedscope file = read(files[i]);
        ck_assert_msg(!file.fault, "%s: %s", files[i], file.fault);
    }
    ck_assert_uint_eq(read(EVENTED("")).profiles, 1);
}
END_TEST

/* The server (Pyroscope 2.x) answers each with 422, except a frame one past the table, on which it
 * fails. */
START_TEST(what_the_server_refuses_is_refused_with_the_reason)
{
    static const struct {
        const char *text, *fault;
    } rows[] = {
        {"", "not JSON"},
        {"{", "not JSON"},
        {FILE_OF("") "x", "not JSON"},
        {"[]", "unexpected type"},
        {"{\"profiles\":[]}", "$schema"},
        {EVENTED(EVENT("C", "0", "0")), "none is open"},
        {EVENTED(EVENT("O", "0", "0") "," EVENT("C", "1", "1")), "not the open one"},
        {EVENTED(EVENT("O", "0", "5") "," EVENT("C", "0", "4")), "out of order"},
        {EVENTED(EVENT("O", "0", "-1")), "out of order"},
        {EVENTED(EVENT("O", "2", "0")), "shared.frames"},
        {EVENTED(EVENT("O", "-1", "0")), "shared.frames"},
        {EVENTED(EVENT("X", "0", "0")), "neither O nor C"},
        {EVENTED("{\"type\":\"O\",\"frame\":\"0\",\"at\":1}"), "unexpected type"},
        {FILE_OF("{\"type\":\"x\",\"unit\":\"none\"}"), "neither evented nor sampled"},
        {FILE_OF("{\"type\":\"evented\",\"unit\":\"parsecs\"}"), "unknown unit"},
        {FILE_OF("{\"type\":\"evented\"}"), "unknown unit"},
        {SAMPLED("[0]", ""), "weights"},
        {SAMPLED("[0]", "-1"), "below 0"},
        {SAMPLED("[2]", "1"), "shared.frames"},
        {SAMPLED("[1e999]", "1"), "too large"},
        {SAMPLED("0", "1"), "unexpected type"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct speedscope file = read(rows[i].text);
        ck_assert_msg(file.fault && strstr(file.fault, rows[i].fault), "%s: %s", rows[i].text,
                      file.fault ? file.fault : "-");
    }
}
END_TEST

START_TEST(the_profile_at_fault_is_told)
{
    struct speedscope file = read(FILE_OF("{\"type\":\"evented\",\"unit\":\"none\"},{}"));
    ck_assert_uint_eq(file.profile, 2);
}
END_TEST

START_TEST(without_room_for_open_frames_nothing_is_said_of_it)
{
    struct speedscope file;
    struct bytes stack;
    bytes_init(&stack, 4, NULL);
    ck_assert(!speedscope_read(&file, VIEW(EVENTED(EVENT("O", "0", "0") "," EVENT("O", "1", "0"))),
                               &stack));
    ck_assert_ptr_null(file.fault);
    bytes_release(&stack);
}
END_TEST

SUITE_MAIN("speedscope", what_the_server_takes_is_taken,
           what_the_server_refuses_is_refused_with_the_reason, the_profile_at_fault_is_told,
           without_room_for_open_frames_nothing_is_said_of_it)
