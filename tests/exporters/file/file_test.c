/* The files that the file exporter writes. */
#include "exporters/file/file.h"

#include "lib/base/utf8.h"
#include "lib/wire/codec/compress.h"
#include "lib/wire/json/otlp_json.h"
#include "tests/support/backend.h"
#include "tests/support/keeper.h"
#include "tests/support/pprof_build.h"
#include "tests/support/proto_build.h"
#include "tests/support/scripted.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern const struct component exporter_file;
const struct component *const component_table[] = {&scripted_source, &scripted_pprof,
                                                   &exporter_file, NULL};

static struct given_exporter exporter;

/* keys: "%s" is the test's folder. */
static void begin(const char *keys)
{
    char section[1024] = "file: {";
    for (const char *mark; (mark = strstr(keys, "%s")); keys = mark + 2) {
        strncat(section, keys, (size_t)(mark - keys));
        strcat(section, receiver_folder());
    }
    strcat(section, keys);
    strcat(section, "}");
    exporter_start(&exporter, section, "traces", NULL);
}

static const char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", receiver_folder(), name);
    return path;
}

static struct view spans(const char *name)
{
    return PB_MESSAGE(1, PB_MESSAGE(2, PB_SPAN(PB_MESSAGE(5, view_of(name)))));
}

static struct outcome send_spans(const char *name)
{
    return exporter_send(&exporter, otlp_batch_of(SIGNAL_TRACES, spans(name), 1));
}

/* Lists the names in a folder that start with a prefix, sorted. Returns their number. */
static size_t list(const char *folder, const char *prefix, char names[][256], size_t max)
{
    struct dirent **entries;
    size_t found = 0;
    int count = scandir(folder, &entries, NULL, alphasort);
    ck_assert_int_ge(count, 0);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (*name != '.' && strncmp(name, prefix, strlen(prefix)) == 0 && found < max)
            snprintf(names[found++], 256, "%s", name);
        free(entries[i]);
    }
    free(entries);
    return found;
}

START_TEST(requests_are_lines_of_otlp_json)
{
    begin("path: %s/traces.jsonl");
    send_spans("one");
    send_spans("line\\nbreak");
    struct view content =
        receiver_recorded(in_folder("traces.jsonl")); /* before the exporter is closed */
    for (unsigned i = 0; i < 2; i++) {
        const uint8_t *end = memchr(content.data, '\n', content.size);
        ck_assert_ptr_nonnull(end);
        struct view line = view_between(content.data, end);
        struct bytes binary;
        char reason[128];
        bytes_init(&binary, 1 << 16, NULL);
        ck_assert_msg(otlp_json_read(SIGNAL_TRACES, line, &binary, reason, sizeof reason), "%s",
                      reason);
        ck_assert(view_eq(bytes_view(&binary), spans(i ? "line\\nbreak" : "one")));
        bytes_release(&binary);
        content = view_between(end + 1, content.data + content.size);
    }
    ck_assert_uint_eq(content.size, 0);
    exporter_stop(&exporter);
}
END_TEST

START_TEST(in_protobuf_each_request_stands_behind_its_size)
{
    begin("path: %s/traces.pb, format: proto");
    send_spans("one");
    send_spans("another");
    struct view content = receiver_recorded(in_folder("traces.pb"));
    for (unsigned i = 0; i < 2; i++) {
        struct view want = spans(i ? "another" : "one");
        const uint8_t prefix[4] = {0, 0, 0, (uint8_t)want.size};
        ck_assert_uint_ge(content.size, 4 + want.size);
        ck_assert_mem_eq(content.data, prefix, 4);
        ck_assert_mem_eq(content.data + 4, want.data, want.size);
        content = view_between(content.data + 4 + want.size, content.data + content.size);
    }
    ck_assert_uint_eq(content.size, 0);
    exporter_stop(&exporter);
}
END_TEST

START_TEST(folders_are_made_and_files_are_appended_to)
{
    for (unsigned i = 0; i < 2; i++) {
        begin("path: %s/a//b/c/traces.jsonl");
        send_spans("x");
        exporter_stop(&exporter);
    }
    struct view content = receiver_recorded(in_folder("a/b/c/traces.jsonl"));
    unsigned lines = 0;
    for (size_t i = 0; i < content.size; i++)
        lines += content.data[i] == '\n';
    ck_assert_uint_eq(lines, 2);
}
END_TEST

START_TEST(full_files_are_renamed_and_only_the_latest_are_kept)
{
    char names[16][256];
    static char long_name[600 << 10];
    memset(long_name, 'n', sizeof long_name - 1);
    fclose(fopen(in_folder("traces-2.jsonl"), "w"));          /* not the exporter's */
    fclose(fopen(in_folder("traces-2026-01-01.jsonl"), "w")); /* likewise */
    begin("path: %s/traces.jsonl, rotation: {max_megabytes: 1, max_backups: 2}");
    for (unsigned i = 0; i < 6; i++) {
        ck_assert_int_eq(send_spans(long_name).verdict, VERDICT_OK);
        given_advance(&exporter.given, NS_PER_S);
    }
    exporter_stop(&exporter);
    ck_assert_uint_eq(list(receiver_folder(), "traces", names, 16), 5);
    ck_assert_str_eq(names[0], "traces-2.jsonl");
    ck_assert_str_eq(names[1], "traces-2026-01-01.jsonl");
    ck_assert_str_eq(names[2], "traces-2026-01-01T00-00-04.000000000.jsonl");
    ck_assert_str_eq(names[3], "traces-2026-01-01T00-00-05.000000000.jsonl");
    ck_assert_str_eq(names[4], "traces.jsonl");
    for (unsigned i = 2; i < 5; i++) {
        struct stat status;
        ck_assert_int_eq(stat(in_folder(names[i]), &status), 0);
        ck_assert_int_gt(status.st_size, 600 << 10);
        ck_assert_int_lt(status.st_size, 1 << 20);
    }
}
END_TEST

START_TEST(without_rotation_a_file_grows)
{
    char names[4][256];
    static char long_name[600 << 10];
    memset(long_name, 'n', sizeof long_name - 1);
    begin("path: %s/traces.jsonl");
    for (unsigned i = 0; i < 3; i++)
        send_spans(long_name);
    exporter_stop(&exporter);
    ck_assert_uint_eq(list(receiver_folder(), "traces", names, 4), 1);
}
END_TEST

START_TEST(a_line_larger_than_the_limit_is_written_whole)
{
    static char long_name[2 << 20];
    memset(long_name, 'n', sizeof long_name - 1);
    begin("path: %s/traces.jsonl, rotation: {max_megabytes: 1}");
    ck_assert_int_eq(send_spans(long_name).verdict, VERDICT_OK);
    exporter_stop(&exporter);
    ck_assert_uint_gt(receiver_recorded(in_folder("traces.jsonl")).size, 2 << 20);
}
END_TEST

static struct view unpacked(struct view packed)
{
    static struct bytes raw;
    bytes_init(&raw, 1 << 20, NULL);
    ck_assert_int_eq(inflate_append(ENCODING_GZIP, packed, &raw), INFLATE_OK);
    return bytes_view(&raw);
}

START_TEST(every_profile_is_a_file_of_its_own)
{
    char names[8][256], path[600];
    begin("path: %s/t.jsonl, profiles_directory: %s/p/q");
    exporter_send(&exporter, pprof_batch_of(VIEW("one"), "cpu{service_name=shop}", NULL));
    exporter_send(&exporter, pprof_batch_of(VIEW("two"), "cpu{service_name=shop}", NULL));
    exporter_send(&exporter, pprof_batch_of(VIEW("three"), "shop/../x", NULL));
    exporter_send(&exporter, otlp_batch_of(SIGNAL_PROFILES, VIEW("four"), 1));
    exporter_stop(&exporter);
    ck_assert_uint_eq(list(in_folder("p/q"), "", names, 8), 4);
    ck_assert_ptr_nonnull(strstr(names[0], ".otlp.gz"));
    ck_assert_int_eq(strncmp(names[1], "shop-", 5), 0);
    ck_assert_int_eq(strncmp(names[3], "shop_.._x-", 10), 0);
    for (unsigned i = 1; i < 4; i++)
        ck_assert_str_eq(names[i] + strlen(names[i]) - 6, ".pb.gz");
    snprintf(path, sizeof path, "%s/p/q/%s", receiver_folder(), names[1]);
    ck_assert(view_eq(unpacked(receiver_recorded(path)), VIEW("one")));
}
END_TEST

START_TEST(a_profiles_name_has_only_what_is_seen_in_whole_characters)
{
    char names[8][256], named[16] = "\xc2\x9b\xe2\x80\xae\xff\xc3\xa9";
    char longest[800] = "cpu{service_name=ab";
    struct view series = {0};
    for (size_t at = strlen(longest); at + 3 < sizeof longest; at += 2)
        memcpy(longest + at, "\xc3\xa9", 2);
    strcat(longest, "}");
    begin("path: %s/t.jsonl, profiles_directory: %s/named");
    struct batch *batch = pprof_batch_of(VIEW("one"), "cpu{service_name=a}", NULL);
    series = view_of(named);
    struct series *hostile = series_with(batch->series, VIEW("service_name"), series);
    series_unref(batch->series);
    batch->series = hostile;
    exporter_send(&exporter, batch);
    exporter_send(&exporter, pprof_batch_of(VIEW("two"), longest, NULL));
    exporter_stop(&exporter);
    ck_assert_uint_eq(list(in_folder("named"), "", names, 8), 2);
    ck_assert_msg(strncmp(names[0], "___\xc3\xa9-", 6) == 0, "%s", names[0]);
    ck_assert_msg(utf8_valid(view_of(names[1])), "%s", names[1]);
}
END_TEST

START_TEST(profiles_stand_beside_the_lines_by_default)
{
    char names[4][256];
    begin("path: %s/t.jsonl");
    exporter_send(&exporter, pprof_batch_of(VIEW("one"), "shop", NULL));
    exporter_stop(&exporter);
    ck_assert_uint_eq(list(in_folder("profiles"), "shop-", names, 4), 1);
}
END_TEST

START_TEST(as_lines_profiles_are_otlp_json_at_the_path)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_sample(build, (int64_t[]){1000}, (const char *const[]){"work", NULL});
    pprof_build_label(build, "span_id", "00f067aa0ba902b7");
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    begin("path: %s/profiles.jsonl, profiles: lines");
    struct batch *batch = pprof_batch_of(bytes_view(&raw), "process_cpu{service_name=shop}", NULL);
    ck_assert_int_eq(exporter_send(&exporter, batch).verdict, VERDICT_OK);
    struct view line = receiver_recorded(in_folder("profiles.jsonl"));
    static const char *const parts[] = {"{\"resourceProfiles\":[", "\"shop\"",
                                        "\"spanId\":\"00f067aa0ba902b7\"", "\"work\""};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ck_assert_msg(memmem(line.data, line.size, parts[i], strlen(parts[i])), "no %s in %.*s",
                      parts[i], VIEW_ARG(line));
    ck_assert_int_eq(line.data[line.size - 1], '\n');
    bytes_release(&raw);
    exporter_stop(&exporter);
}
END_TEST

START_TEST(a_disk_that_fails_is_tried_again_and_named)
{
    begin("path: %s/t.jsonl, profiles_directory: %s/t.jsonl/no-folder");
    struct outcome outcome = exporter_send(&exporter, pprof_batch_of(VIEW("one"), "shop", NULL));
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_msg(strstr(outcome.text, "t.jsonl/no-folder") &&
                      strstr(outcome.text, ": Not a directory"),
                  "%s", outcome.text);
    exporter_stop(&exporter);
}
END_TEST

START_TEST(a_line_that_finds_no_room_leaves_no_half)
{
    struct line_file file = {.path = "/dev/full", .clock = &clock_system, .fd = -1};
    ck_assert(line_file_open(&file));
    ck_assert(!line_file_write(&file, VIEW("line\n")));
    ck_assert_int_eq(errno, ENOSPC);
    line_file_close(&file);
    line_file_close(&file);
    begin("path: /dev/full");
    struct outcome outcome = send_spans("x");
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_str_eq(outcome.text, "cannot write /dev/full: No space left on device");
    exporter_stop(&exporter);
}
END_TEST

START_TEST(a_line_that_fits_in_part_is_taken_back)
{
    const char *path = in_folder("t.jsonl");
    struct rlimit before, little;
    char text[64] = "";
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    struct line_file file = {.path = (char *)(uintptr_t)path, .clock = &clock_system, .fd = -1};
    ck_assert(line_file_open(&file));
    ck_assert(line_file_write(&file, VIEW("first\n")));
    little = (struct rlimit){10, before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
    ck_assert(!line_file_write(&file, VIEW("second, and longer\n")));
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert(line_file_write(&file, VIEW("third\n")));
    line_file_close(&file);
    FILE *in = fopen(path, "r");
    ck_assert_ptr_nonnull(in);
    (void)!fread(text, 1, sizeof text - 1, in);
    fclose(in);
    ck_assert_str_eq(text, "first\nthird\n");
}
END_TEST

START_TEST(an_unfinished_last_line_does_not_swallow_the_next)
{
    static const char *const wants[] = {"{\"half\none\ntwo\n", "{\"halfone\ntwo\n"};
    for (int framed = 0; framed < 2; framed++) {
        char text[64] = "";
        const char *path = in_folder(framed ? "framed" : "lines");
        struct line_file file = {.path = path, .framed = framed, .clock = &clock_system, .fd = -1};
        FILE *half = fopen(path, "w");
        fputs("{\"half", half);
        fclose(half);
        ck_assert(line_file_open(&file));
        ck_assert(line_file_write(&file, VIEW("one\n")));
        line_file_close(&file);
        ck_assert(line_file_open(&file));
        ck_assert(line_file_write(&file, VIEW("two\n")));
        line_file_close(&file);
        FILE *in = fopen(path, "r");
        (void)!fread(text, 1, sizeof text - 1, in);
        fclose(in);
        ck_assert_str_eq(text, wants[framed]);
    }
}
END_TEST

START_TEST(a_file_that_is_moved_or_removed_is_made_again)
{
    struct stat status;
    char path[300], moved[300], folder[256], aside[256];
    snprintf(folder, sizeof folder, "%s/a", receiver_folder());
    snprintf(aside, sizeof aside, "%s/b", receiver_folder());
    snprintf(path, sizeof path, "%s/t.jsonl", folder);
    snprintf(moved, sizeof moved, "%s/t.jsonl.1", folder);
    begin("path: %s/a/t.jsonl");
    ck_assert_int_eq(send_spans("one").verdict, VERDICT_OK);
    ck_assert_int_eq(stat(path, &status), 0);
    off_t size = status.st_size;
    ck_assert_int_eq(rename(path, moved), 0);
    ck_assert_int_eq(send_spans("two").verdict, VERDICT_OK);
    ck_assert_int_eq(stat(moved, &status), 0);
    ck_assert_int_eq(status.st_size, size);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(status.st_size, size);
    ck_assert_int_eq(rename(folder, aside), 0);
    FILE *in_the_way = fopen(folder, "w");
    ck_assert_int_eq(send_spans("six").verdict, VERDICT_RETRY);
    fclose(in_the_way);
    ck_assert_int_eq(unlink(folder), 0);
    ck_assert_int_eq(send_spans("six").verdict, VERDICT_OK);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(status.st_size, size);
    exporter_stop(&exporter);
}
END_TEST

START_TEST(a_path_that_cannot_be_is_an_error_at_start)
{
    char *text =
        start_faults("receivers: {source: }\nexporters: {file: {path: /proc/no/such.jsonl}}\n"
                     "service: {pipelines: {traces: {receivers: [source], exporters: [file]}}}\n");
    ck_assert_msg(strstr(text, "exporters.file.path: cannot write /proc/no/such.jsonl"), "%s",
                  text);
    free(text);
}
END_TEST

static char *faults_of_path(const char *path, bool rehearsed)
{
    char yaml[600];
    snprintf(yaml, sizeof yaml,
             "receivers: {source: }\nexporters: {file: {path: '%s'}}\n"
             "service: {pipelines: {traces: {receivers: [source], exporters: [file]}}}\n",
             path);
    return rehearsed ? rehearsal_faults(yaml) : start_faults(yaml);
}

START_TEST(a_fifo_without_a_reader_or_a_folder_is_an_error_at_start_and_in_validate)
{
    char fifo[256];
    snprintf(fifo, sizeof fifo, "%s", in_folder("fifo"));
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    for (int rehearsed = 0; rehearsed < 2; rehearsed++) {
        char *text = faults_of_path(fifo, rehearsed);
        ck_assert_msg(strstr(text, "/fifo: it is a FIFO that nobody reads, or a socket\n"), "%s",
                      text);
        free(text);
        text = faults_of_path(receiver_folder(), rehearsed);
        ck_assert_msg(strstr(text, ": Is a directory\n"), "%s", text);
        free(text);
    }
    char *text = faults_of_path(in_folder("new.jsonl"), true);
    ck_assert_str_eq(text, "");
    free(text);
}
END_TEST

START_TEST(a_fifo_is_written_while_somebody_reads_it)
{
    char text[8] = "";
    const char *path = in_folder("fifo");
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    struct line_file file = {.path = path, .clock = &clock_system, .fd = -1};
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    signal(SIGPIPE, SIG_IGN);
    ck_assert(line_file_open(&file));
    ck_assert(line_file_write(&file, VIEW("one\n")));
    ck_assert_int_eq(read(reader, text, sizeof text), 4);
    close(reader);
    ck_assert(!line_file_write(&file, VIEW("two\n")));
    ck_assert(!line_file_write(&file, VIEW("two\n")));
    ck_assert_int_eq(errno, ENXIO);
    line_file_close(&file);
}
END_TEST

SUITE_MAIN("file_exporter", requests_are_lines_of_otlp_json,
           in_protobuf_each_request_stands_behind_its_size,
           folders_are_made_and_files_are_appended_to,
           full_files_are_renamed_and_only_the_latest_are_kept, without_rotation_a_file_grows,
           a_line_larger_than_the_limit_is_written_whole, every_profile_is_a_file_of_its_own,
           a_profiles_name_has_only_what_is_seen_in_whole_characters,
           profiles_stand_beside_the_lines_by_default, as_lines_profiles_are_otlp_json_at_the_path,
           a_disk_that_fails_is_tried_again_and_named, a_line_that_finds_no_room_leaves_no_half,
           a_fifo_without_a_reader_or_a_folder_is_an_error_at_start_and_in_validate,
           an_unfinished_last_line_does_not_swallow_the_next,
           a_fifo_is_written_while_somebody_reads_it, a_line_that_fits_in_part_is_taken_back,
           a_file_that_is_moved_or_removed_is_made_again,
           a_path_that_cannot_be_is_an_error_at_start)
