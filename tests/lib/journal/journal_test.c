#include "lib/journal/delivered.h"

#include "lib/journal/progress.h"
#include "lib/journal/segment.h"
#include "tests/support/fake_clock.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)

enum { SEGMENT = 512 << 10 }; /* of a journal of 8 MiB */

static char directory[64];
static _Atomic bool syncs_fail, syncs_wait;
static _Atomic unsigned folder_syncs;

/* Replaces the C library's. */
int fdatasync(int fd)
{
    while (syncs_wait)
        sched_yield();
    if (syncs_fail)
        errno = EIO;
    return syncs_fail ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode))
        folder_syncs++;
    return (int)syscall(SYS_fsync, fd);
}

static void setup(void)
{
    snprintf(directory, sizeof directory, "/tmp/journal_test.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
}

static void remove_all(const char *path)
{
    DIR *list = opendir(path);
    char name[512];
    for (struct dirent *file; list && (file = readdir(list));) {
        if (file->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, file->d_name);
        if (unlink(name) != 0)
            remove_all(name);
    }
    if (list)
        closedir(list);
    rmdir(path);
}

static void teardown(void)
{
    remove_all(directory);
}

static struct fake_clock fake;
static const struct clock *the_clock = &clock_system;

static struct journal *open_with(uint64_t max_bytes, uint64_t interval)
{
    char error[256] = "";
    struct journal_settings settings = {.directory = directory,
                                        .max_bytes = max_bytes,
                                        .sync_interval = interval,
                                        .clock = the_clock};
    struct journal *journal = journal_open(&settings, error, sizeof error);
    ck_assert_msg(journal != NULL, "%s", error);
    return journal;
}

static struct journal *open_journal(void)
{
    return open_with(8 * MIB, 0);
}

/* An append, and waiting for it. */
struct appended {
    struct journal_write write;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool done;
    struct journal_entry *entry;
    enum journal_fault fault;
};

static void ended(struct journal_write *write, struct journal_entry *entry,
                  enum journal_fault fault)
{
    struct appended *appended = (struct appended *)write;
    pthread_mutex_lock(&appended->lock);
    appended->entry = entry;
    appended->fault = fault;
    appended->done = true;
    pthread_cond_signal(&appended->ended);
    pthread_mutex_unlock(&appended->lock);
}

static void begin(struct journal *journal, struct appended *appended, struct view content)
{
    *appended = (struct appended){.write = {.parts = {content}, .part_count = 1, .done = ended}};
    pthread_mutex_init(&appended->lock, NULL);
    pthread_cond_init(&appended->ended, NULL);
    journal_append(journal, &appended->write);
}

static enum journal_fault await(struct appended *appended)
{
    pthread_mutex_lock(&appended->lock);
    while (!appended->done)
        pthread_cond_wait(&appended->ended, &appended->lock);
    pthread_mutex_unlock(&appended->lock);
    return appended->fault;
}

static struct journal_entry *append(struct journal *journal, struct view content)
{
    struct appended appended;
    begin(journal, &appended, content);
    ck_assert_int_eq(await(&appended), JOURNAL_OK);
    return appended.entry;
}

static struct journal_entry *append_text(struct journal *journal, const char *text)
{
    return append(journal, view_of(text));
}

/* The next entry that was left, as text; "": none. *entry owns it. */
static const char *next_left(struct journal *journal, struct journal_entry **entry)
{
    static char text[64];
    struct bytes body;
    bool no_room;
    bytes_init(&body, MIB, NULL);
    text[0] = '\0';
    if (journal_next(journal, &body, entry, &no_room))
        snprintf(text, sizeof text, "%.*s", VIEW_ARG(bytes_view(&body)));
    bytes_release(&body);
    return text;
}

static const char *settle_next(struct journal *journal)
{
    struct journal_entry *entry;
    entry = NULL;
    const char *text = next_left(journal, &entry);
    if (entry)
        journal_settle(journal, entry);
    return text;
}

static struct journal_figures figures_of(struct journal *journal)
{
    struct journal_figures figures;
    journal_figures(journal, &figures);
    return figures;
}

/* The path of the n-th file with this prefix. False: there are fewer. */
static bool find_file(const char *folder, const char *prefix, char *path, size_t size)
{
    DIR *list = opendir(folder);
    bool found = false;
    for (struct dirent *file; list && !found && (file = readdir(list));)
        if (file->d_name[0] != '.' && strncmp(file->d_name, prefix, strlen(prefix)) == 0) {
            snprintf(path, size, "%s/%s", folder, file->d_name);
            found = true;
        }
    if (list)
        closedir(list);
    return found;
}

static void segment_path(char *path, size_t size)
{
    ck_assert(find_file(directory, "entries-", path, size));
}

/* Like a killed process: the kernel closes its files, nothing else runs. */
static void in_a_process_that_is_killed(void (*work)(void))
{
    pid_t child = fork();
    if (child == 0) {
        work();
        kill(getpid(), SIGKILL);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void append_three(void)
{
    struct journal *journal = open_journal();
    append_text(journal, "one");
    struct journal_entry *two = append_text(journal, "two");
    append_text(journal, "three");
    journal_settle(journal, two);
}

START_TEST(what_was_not_settled_is_found_after_a_kill_in_order)
{
    in_a_process_that_is_killed(append_three);
    struct journal *journal = open_journal();
    ck_assert_uint_eq(figures_of(journal).live, 2);
    ck_assert_str_eq(settle_next(journal), "one");
    ck_assert_str_eq(settle_next(journal), "three");
    ck_assert_str_eq(settle_next(journal), "");
    ck_assert_uint_eq(figures_of(journal).damaged, 0);
    journal_close(journal);
}
END_TEST

static void append_two_with_progress(void)
{
    struct journal *journal = open_journal();
    struct journal_entry *one = append_text(journal, "one"), *two = append_text(journal, "two");
    journal_progress_keep(journal, one, 1, VIEW("a third"));
    journal_progress_keep(journal, two, 1, VIEW("half"));
    journal_progress_keep(journal, one, 2, VIEW("other"));
    journal_progress_keep(journal, one, 1, VIEW("two thirds"));
}

static void expect_progress(struct journal *journal, const struct journal_entry *entry,
                            uint64_t key, const char *expected)
{
    struct bytes content;
    bytes_init(&content, JOURNAL_PROGRESS_MAX, NULL);
    ck_assert_int_eq(journal_progress_find(journal, entry, key, &content), *expected != 0);
    ck_assert(view_eq(bytes_view(&content), view_of(expected)));
    bytes_release(&content);
}

START_TEST(progress_is_known_after_a_kill_for_its_entry_and_key)
{
    struct journal_entry *entry;
    in_a_process_that_is_killed(append_two_with_progress);
    struct journal *journal = open_journal();
    ck_assert_str_eq(next_left(journal, &entry), "one");
    expect_progress(journal, entry, 1, "two thirds");
    expect_progress(journal, entry, 2, "other");
    expect_progress(journal, entry, 3, "");
    journal_settle(journal, entry);
    ck_assert_str_eq(next_left(journal, &entry), "two");
    expect_progress(journal, entry, 1, "half");
    journal_settle(journal, entry);
    entry = append_text(journal, "new");
    expect_progress(journal, entry, 1, "");
    journal_settle(journal, entry);
    journal_close(journal);
}
END_TEST

static void find_one_of_three(void)
{
    struct journal *journal = open_journal();
    settle_next(journal);
}

START_TEST(a_kill_while_they_are_given_out_loses_none)
{
    in_a_process_that_is_killed(append_three);
    in_a_process_that_is_killed(find_one_of_three);
    struct journal *journal = open_journal();
    ck_assert_str_eq(settle_next(journal), "three");
    ck_assert_str_eq(settle_next(journal), "");
    journal_close(journal);
}
END_TEST

START_TEST(what_is_kept_at_the_end_is_found_and_what_is_settled_leaves_no_file)
{
    char path[512];
    struct journal *journal = open_journal();
    journal_settle(journal, append_text(journal, "gone"));
    journal_keep(journal, append_text(journal, "kept"));
    journal_close(journal);
    journal = open_journal();
    ck_assert_str_eq(settle_next(journal), "kept");
    journal_close(journal);
    ck_assert(!find_file(directory, "entries-", path, sizeof path));
}
END_TEST

START_TEST(an_empty_and_a_large_content_come_back_whole)
{
    size_t size = 3 * MIB + 5;
    uint8_t *large = malloc(size);
    struct journal_entry *entry;
    struct bytes body;
    bool no_room;
    for (size_t i = 0; i < size; i++)
        large[i] = (uint8_t)(i * 2654435761u >> 13);
    struct journal *journal = open_journal();
    append(journal, (struct view){large, 0});
    append(journal, (struct view){large, size});
    journal_close(journal);
    journal = open_journal();
    bytes_init(&body, MIB, NULL);
    ck_assert(journal_next(journal, &body, &entry, &no_room));
    ck_assert_uint_eq(body.size, 0);
    ck_assert(!journal_next(journal, &body, &entry, &no_room) && no_room);
    bytes_release(&body);
    bytes_init(&body, 4 * MIB, NULL);
    ck_assert(journal_next(journal, &body, &entry, &no_room));
    ck_assert(view_eq(bytes_view(&body), (struct view){large, size}));
    bytes_release(&body);
    journal_close(journal);
    free(large);
}
END_TEST

START_TEST(a_directory_is_made_and_has_one_owner)
{
    char error[256];
    char before[64];
    memcpy(before, directory, sizeof before);
    strcat(directory, "/a/b");
    struct journal *journal = open_journal();
    struct journal_settings settings = {
        .directory = directory, .max_bytes = MIB, .clock = &clock_system};
    ck_assert_ptr_null(journal_open(&settings, error, sizeof error));
    ck_assert_msg(strstr(error, "in use by another process") != NULL, "%s", error);
    journal_close(journal);
    memcpy(directory, before, sizeof directory);
}
END_TEST

enum { COUNT = 4 };
static const char *const texts[COUNT] = {"first entry", "second entry", "third entry",
                                         "the last entry, a longer one"};

static uint64_t begin_of(int n)
{
    uint64_t at = 0;
    for (int i = 0; i < n; i++)
        at += segment_extent(strlen(texts[i]));
    return at;
}

static void write_texts(void)
{
    struct journal *journal = open_journal();
    for (int i = 0; i < COUNT; i++)
        journal_keep(journal, append_text(journal, texts[i]));
    journal_close(journal);
}

/* Expects every entry except one, in order. */
static void expect_all_but(int lost, const char *what, uint64_t at)
{
    struct journal *journal = open_journal();
    for (int i = 0; i < COUNT; i++)
        if (i != lost)
            ck_assert_msg(strcmp(settle_next(journal), texts[i]) == 0, "%s at %llu: entry %d", what,
                          (unsigned long long)at, i);
    ck_assert_str_eq(settle_next(journal), "");
    struct journal_figures figures = figures_of(journal);
    ck_assert_msg(figures.damaged == (lost >= 0), "%s at %llu: %llu damaged", what,
                  (unsigned long long)at, (unsigned long long)figures.damaged);
    journal_close(journal);
    char path[512], folder[128];
    snprintf(folder, sizeof folder, "%s/damaged", directory);
    ck_assert_int_eq(find_file(folder, "entries-", path, sizeof path), lost >= 0);
    remove_all(folder);
}

START_TEST(a_file_cut_anywhere_in_its_last_entry_loses_that_one)
{
    char path[512];
    uint64_t last = begin_of(COUNT - 1), end = last + SEGMENT_HEADER_SIZE + strlen(texts[3]);
    for (uint64_t at = last + 1; at < end; at++) {
        write_texts();
        segment_path(path, sizeof path);
        ck_assert_int_eq(truncate(path, (off_t)at), 0);
        expect_all_but(COUNT - 1, "cut", at);
    }
}
END_TEST

static int entry_of(uint64_t at)
{
    int n = 0;
    while (n + 1 < COUNT && at >= begin_of(n + 1))
        n++;
    return n;
}

static bool is_padding(uint64_t at)
{
    int n = entry_of(at);
    return at - begin_of(n) >= SEGMENT_HEADER_SIZE + strlen(texts[n]);
}

START_TEST(a_flipped_byte_loses_the_entry_that_it_is_in_and_no_other)
{
    char path[512];
    for (uint64_t at = 0; at < begin_of(COUNT - 1) + SEGMENT_HEADER_SIZE + strlen(texts[3]); at++) {
        uint8_t byte;
        write_texts();
        segment_path(path, sizeof path);
        int fd = open(path, O_RDWR);
        ck_assert_int_eq(pread(fd, &byte, 1, (off_t)at), 1);
        byte ^= 0xff;
        ck_assert_int_eq(pwrite(fd, &byte, 1, (off_t)at), 1);
        close(fd);
        expect_all_but(is_padding(at) ? -1 : entry_of(at), "flipped", at);
    }
}
END_TEST

START_TEST(a_damaged_mark_gives_its_entry_out_again)
{
    for (int flipped = 0; flipped < 8; flipped++) {
        char path[512];
        struct stat status;
        uint8_t byte;
        in_a_process_that_is_killed(append_three);
        segment_path(path, sizeof path);
        int fd = open(path, O_RDWR);
        ck_assert_int_eq(fstat(fd, &status), 0);
        off_t at = status.st_size - 16 + flipped; /* the second's, from the end */
        ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
        byte ^= 0xff;
        ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
        close(fd);
        struct journal *journal = open_journal();
        ck_assert_str_eq(settle_next(journal), "one");
        ck_assert_str_eq(settle_next(journal), "two");
        ck_assert_str_eq(settle_next(journal), "three");
        ck_assert_uint_eq(figures_of(journal).damaged, 0);
        journal_close(journal);
    }
}
END_TEST

enum { SMALL_COUNT = 10000, SMALL_LEFT = 700 };

/* Appends entries so small that their marks take much of each segment. */
static void append_small(void)
{
    struct journal *journal = open_with(4 * MIB, NS_PER_S);
    for (int i = 0; i < SMALL_COUNT; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        struct journal_entry *entry = append_text(journal, text);
        if (i % SMALL_LEFT)
            journal_settle(journal, entry);
    }
}

START_TEST(marks_and_small_entries_do_not_get_in_each_others_way)
{
    char text[16];
    in_a_process_that_is_killed(append_small);
    struct journal *journal = open_with(4 * MIB, NS_PER_S);
    for (int i = 0; i < SMALL_COUNT; i += SMALL_LEFT) {
        snprintf(text, sizeof text, "%d", i);
        ck_assert_str_eq(settle_next(journal), text);
    }
    ck_assert_str_eq(settle_next(journal), "");
    ck_assert_uint_eq(figures_of(journal).damaged, 0);
    journal_close(journal);
}
END_TEST

/* Fills a segment so that the last entry's mark would not fit, and a next segment is needed. */
static void append_to_the_brim(void)
{
    static uint8_t content[MIB];
    struct journal *journal = open_with(4 * MIB, 0);
    uint64_t rest = 4 * MIB / 16;
    for (int i = 0; i < 4; i++, rest -= segment_extent(5))
        append_text(journal, "small");
    append(journal, (struct view){content, rest - segment_tail(4) - SEGMENT_HEADER_SIZE});
}

START_TEST(what_is_settled_after_a_kill_does_not_come_again)
{
    in_a_process_that_is_killed(append_to_the_brim);
    struct journal *journal = open_with(4 * MIB, 0);
    struct journal_entry *entry;
    struct bytes body;
    bool no_room;
    unsigned count = 0;
    bytes_init(&body, MIB, NULL);
    while (journal_next(journal, &body, &entry, &no_room)) {
        if (count++ == 0)
            journal_keep(journal, entry);
        else
            journal_settle(journal, entry);
        bytes_clear(&body);
    }
    bytes_release(&body);
    ck_assert_uint_eq(count, 5);
    journal_close(journal);
    journal = open_with(4 * MIB, 0);
    ck_assert_uint_eq(figures_of(journal).live, 1);
    ck_assert_str_eq(settle_next(journal), "small");
    journal_close(journal);
}
END_TEST

START_TEST(a_mark_is_never_written_over_an_entry)
{
    struct segment_file file;
    int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert(segment_create(&file, dir, "entry", 1, 4096));
    ck_assert(segment_settle(&file, 3, 4096 - 4 * 8));
    ck_assert(!segment_settle(&file, 3, 4096 - 4 * 8 + 1));
    segment_remove(&file);
    close(dir);
}
END_TEST

static void fill(struct journal *journal, struct journal_entry **entries, size_t *count)
{
    static uint8_t content[50000];
    struct appended appended;
    for (;;) {
        begin(journal, &appended, (struct view){content, sizeof content});
        if (await(&appended) != JOURNAL_OK)
            break;
        entries[(*count)++] = appended.entry;
    }
    ck_assert_int_eq(appended.fault, JOURNAL_FULL);
}

static uint64_t bytes_on_disk(const char *path)
{
    uint64_t sum = 0;
    struct stat status;
    DIR *list = opendir(path);
    for (struct dirent *file; list && (file = readdir(list));)
        if (file->d_name[0] != '.' && fstatat(dirfd(list), file->d_name, &status, 0) == 0)
            sum += (uint64_t)status.st_size;
    closedir(list);
    return sum;
}

START_TEST(a_full_journal_refuses_and_takes_again_when_entries_are_settled)
{
    struct journal_entry *entries[200];
    size_t count = 0;
    struct journal *journal = open_with(4 * MIB, 0);
    fill(journal, entries, &count);
    ck_assert_uint_gt(count, 50);
    ck_assert_uint_le(bytes_on_disk(directory), 4 * MIB);
    for (size_t i = 0; i < count; i++)
        journal_settle(journal, entries[i]);
    size_t again = 0;
    fill(journal, entries, &again);
    ck_assert_uint_ge(again + 2, count);
    ck_assert_uint_le(bytes_on_disk(directory), 4 * MIB);
    journal_close(journal);
}
END_TEST

START_TEST(what_could_never_fit_is_told_apart)
{
    static uint8_t content[MIB];
    struct appended appended;
    struct journal *journal = open_with(MIB, 0);
    begin(journal, &appended, (struct view){content, sizeof content});
    ck_assert_int_eq(await(&appended), JOURNAL_TOO_LARGE);
    journal_settle(journal, append(journal, (struct view){content, MIB / 2}));
    journal_close(journal);
}
END_TEST

START_TEST(a_few_old_entries_do_not_hold_up_the_space_of_many)
{
    struct journal_entry *entries[200], *more[200];
    size_t count = 0, again = 0, left = 0;
    struct journal *journal = open_with(4 * MIB, 0);
    fill(journal, entries, &count);
    for (size_t i = 0; i < count; i++)
        if (i % 5 != 0)
            journal_settle(journal, entries[i]);
    fill(journal, more, &again);
    ck_assert_uint_gt(again, count / 2);
    ck_assert_uint_le(bytes_on_disk(directory), 4 * MIB);
    journal_close(journal);
    journal = open_with(4 * MIB, 0);
    ck_assert_uint_eq(figures_of(journal).live, (count + 4) / 5 + again);
    while (figures_of(journal).live > 0) {
        settle_next(journal);
        left++;
    }
    ck_assert_uint_eq(left, (count + 4) / 5 + again);
    ck_assert_uint_eq(figures_of(journal).damaged, 0);
    journal_close(journal);
}
END_TEST

/* Whether the disk has room for another file. */
static void set_room(bool room)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = room ? limit.rlim_max : 4096;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static struct journal *open_with_fake_clock(void)
{
    fake_clock_init(&fake);
    the_clock = &fake.clock;
    return open_journal();
}

static void append_refused(struct journal *journal, struct view content)
{
    struct appended appended;
    begin(journal, &appended, content);
    ck_assert_int_eq(await(&appended), JOURNAL_DISK);
    ck_assert_str_eq(appended.write.error, "File too large");
}

START_TEST(a_disk_that_refuses_is_named_and_tried_again)
{
    struct journal *journal = open_with_fake_clock();
    set_room(false);
    append_refused(journal, VIEW("no room for this"));
    ck_assert_uint_eq(figures_of(journal).refused, 1);
    set_room(true);
    append_refused(journal, VIEW("no room for this")); /* too soon for another attempt */
    ck_assert_uint_eq(figures_of(journal).refused, 2);
    fake_clock_advance(&fake, NS_PER_S / 10);
    journal_keep(journal, append_text(journal, "room again"));
    journal_close(journal);
    journal = open_journal();
    ck_assert_str_eq(settle_next(journal), "room again");
    journal_close(journal);
}
END_TEST

static unsigned count_lines(FILE *log, const char *with)
{
    static char text[1 << 16];
    unsigned count = 0;
    ssize_t size = pread(fileno(log), text, sizeof text - 1, 0);
    ck_assert_int_ge(size, 0);
    text[size] = '\0';
    for (const char *at = text; (at = strstr(at, with)); at++)
        count++;
    return count;
}

START_TEST(room_that_comes_and_goes_is_told_once)
{
    static uint8_t content[SEGMENT]; /* needs a file of its own */
    FILE *log = tmpfile();
    ck_assert_int_ge(dup2(fileno(log), STDERR_FILENO), 0);
    struct journal *journal = open_with_fake_clock();
    for (int i = 0; i < 8; i++) {
        set_room(false);
        append_refused(journal, (struct view){content, sizeof content});
        set_room(true);
        fake_clock_advance(&fake, NS_PER_S / 10);
        journal_settle(journal, append(journal, (struct view){content, sizeof content}));
    }
    ck_assert_uint_eq(count_lines(log, "requests are refused: "), 1);
    ck_assert_uint_eq(count_lines(log, "can be written again"), 0);
    fake_clock_advance(&fake, 5 * NS_PER_S);
    journal_settle(journal, append_text(journal, "still room"));
    journal_close(journal);
    ck_assert_uint_eq(count_lines(log, "journal: can be written again, after 8 requests refused "),
                      1);
    ck_assert_uint_eq(count_lines(log, "\n"), 2);
}
END_TEST

START_TEST(deliveries_that_cannot_be_noted_are_told)
{
    FILE *log = tmpfile();
    ck_assert_int_ge(dup2(fileno(log), STDERR_FILENO), 0);
    struct journal *journal = open_with_fake_clock();
    struct journal_entry *one = append_text(journal, "one"), *two = append_text(journal, "two");
    journal_keep(journal, append_text(journal, "kept"));
    set_room(false);
    journal_settle(journal, one);
    journal_settle(journal, two);
    set_room(true);
    ck_assert_uint_eq(count_lines(log, "\n"), 1);
    ck_assert_uint_eq(count_lines(log, "that requests were delivered: File too large"), 1);
    journal_close(journal);
    journal = open_journal();
    ck_assert_str_eq(settle_next(journal), "one");
    ck_assert_str_eq(settle_next(journal), "two");
    ck_assert_str_eq(settle_next(journal), "kept");
    journal_close(journal);
}
END_TEST

START_TEST(only_what_is_written_ends_the_trouble)
{
    static uint8_t content[16 * MIB];
    struct appended large;
    struct bytes trouble;
    FILE *log = tmpfile();
    ck_assert_int_ge(dup2(fileno(log), STDERR_FILENO), 0);
    bytes_init(&trouble, 1024, NULL);
    struct journal *journal = open_with_fake_clock();
    set_room(false);
    append_refused(journal, VIEW("no room for this"));
    begin(journal, &large, (struct view){content, sizeof content});
    ck_assert_int_eq(await(&large), JOURNAL_TOO_LARGE);
    fake_clock_advance(&fake, 6 * NS_PER_S);
    ck_assert(journal_trouble(journal, &trouble));
    append_refused(journal, VIEW("still none"));
    ck_assert_uint_eq(count_lines(log, "can be written again"), 0);
    set_room(true);
    fake_clock_advance(&fake, 6 * NS_PER_S);
    journal_settle(journal, append_text(journal, "room again"));
    ck_assert(!journal_trouble(journal, &trouble));
    journal_close(journal);
    bytes_release(&trouble);
}
END_TEST

START_TEST(what_the_disk_refuses_to_sync_is_refused_and_not_found)
{
    struct appended appended;
    struct journal *journal = open_journal();
    journal_keep(journal, append_text(journal, "before"));
    syncs_fail = true;
    begin(journal, &appended, VIEW("in the middle"));
    ck_assert_int_eq(await(&appended), JOURNAL_DISK);
    ck_assert_str_eq(appended.write.error, "Input/output error");
    ck_assert_uint_eq(figures_of(journal).live, 1);
    ck_assert_uint_eq(figures_of(journal).refused, 1);
    syncs_fail = false;
    journal_keep(journal, append_text(journal, "after"));
    journal_close(journal);
    journal = open_journal();
    ck_assert_str_eq(settle_next(journal), "before");
    ck_assert_str_eq(settle_next(journal), "after");
    ck_assert_str_eq(settle_next(journal), "");
    journal_close(journal);
}
END_TEST

START_TEST(the_name_of_a_file_is_on_the_disk_before_the_answer)
{
    struct journal *journal = open_journal();
    ck_assert_uint_eq(folder_syncs, 0);
    struct journal_entry *one = append_text(journal, "one");
    ck_assert_uint_eq(folder_syncs, 1);
    static uint8_t large[SEGMENT - 64]; /* fills one */
    struct journal_entry *two = append(journal, (struct view){large, sizeof large});
    ck_assert_uint_eq(folder_syncs, 2);
    journal_settle(journal, one); /* its file becomes a spare and is reused under another name */
    struct journal_entry *three = append(journal, (struct view){large, sizeof large / 2});
    ck_assert_uint_eq(folder_syncs, 3);
    journal_settle(journal, two);
    journal_settle(journal, three);
    journal_close(journal);
}
END_TEST

START_TEST(a_mark_is_good_for_its_own_slot_alone)
{
    char path[512];
    struct stat status;
    uint8_t mark[8];
    in_a_process_that_is_killed(append_three);
    segment_path(path, sizeof path);
    int fd = open(path, O_RDWR);
    ck_assert_int_eq(fstat(fd, &status), 0);
    ck_assert_int_eq(pread(fd, mark, 8, status.st_size - 16), 8);
    ck_assert_int_eq(pwrite(fd, mark, 8, status.st_size - 8), 8);
    close(fd);
    struct journal *journal = open_journal();
    ck_assert_str_eq(settle_next(journal), "one");
    ck_assert_str_eq(settle_next(journal), "three");
    ck_assert_str_eq(settle_next(journal), "");
    journal_close(journal);
}
END_TEST

static void append_around(void (*harm)(void))
{
    struct journal *journal = open_journal();
    journal_note(journal, VIEW("a"), VIEW("noted"), 3600 * NS_PER_S);
    append_text(journal, "before");
    harm();
    struct journal_entry *gone = append_text(journal, "settled");
    append_text(journal, "after");
    journal_settle(journal, gone);
    ck_assert(!journal_trouble(journal, &(struct bytes){.max = 0}));
}

static void remove_directory(void)
{
    remove_all(directory);
}

static void remove_files(void)
{
    char path[512];
    while (find_file(directory, "", path, sizeof path))
        unlink(path);
}

static void move_directory(void)
{
    char away[96];
    snprintf(away, sizeof away, "%s.away", directory);
    ck_assert_int_eq(rename(directory, away), 0);
    ck_assert_int_eq(mkdir(directory, 0700), 0);
}

static void move_files(void)
{
    char path[512], away[96], moved[600];
    snprintf(away, sizeof away, "%s.files", directory);
    mkdir(away, 0700);
    while (find_file(directory, "", path, sizeof path)) {
        snprintf(moved, sizeof moved, "%s%s", away, strrchr(path, '/'));
        ck_assert_int_eq(rename(path, moved), 0);
    }
}

static void remove_it(void)
{
    append_around(remove_directory);
}

static void remove_its_files(void)
{
    append_around(remove_files);
}

static void move_it(void)
{
    append_around(move_directory);
}

static void move_its_files(void)
{
    append_around(move_files);
}

static char recalled[256];

static bool recall(void *ctx, struct view content)
{
    (void)ctx;
    strncat(recalled, (const char *)content.data, content.size);
    strcat(recalled, ";");
    return true;
}

START_TEST(what_was_in_files_that_are_removed_is_written_anew)
{
    static void (*const harms[])(void) = {remove_it, remove_its_files, move_it, move_its_files};
    char path[512], away[96];
    for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
        in_a_process_that_is_killed(harms[i]);
        recalled[0] = '\0';
        struct journal *journal = open_journal();
        journal_recall(journal, VIEW("a"), recall, NULL);
        ck_assert_str_eq(recalled, "noted;");
        ck_assert_str_eq(settle_next(journal), "before");
        ck_assert_str_eq(settle_next(journal), "after");
        ck_assert_str_eq(settle_next(journal), "");
        journal_close(journal);
        remove_all(directory);
    }
    snprintf(away, sizeof away, "%s.away", directory);
    ck_assert(!find_file(away, "entries-", path, sizeof path));
    remove_all(away);
    snprintf(away, sizeof away, "%s.files", directory);
    remove_all(away);
}
END_TEST

static bool troubled(struct journal *journal, char *text, size_t size)
{
    struct bytes out;
    bytes_init(&out, size - 1, NULL);
    bool trouble = journal_trouble(journal, &out);
    snprintf(text, size, "%.*s", VIEW_ARG(bytes_view(&out)));
    bytes_release(&out);
    return trouble;
}

START_TEST(a_directory_that_comes_back_is_used_again)
{
    struct appended appended;
    char text[256], expected[256];
    struct journal *journal = open_journal();
    journal_keep(journal, append_text(journal, "before"));
    remove_all(directory);
    close(open(directory, O_CREAT | O_WRONLY | O_CLOEXEC,
               0600)); /* the directory cannot be created */
    begin(journal, &appended, VIEW("meanwhile"));
    ck_assert_int_eq(await(&appended), JOURNAL_DISK);
    ck_assert(troubled(journal, text, sizeof text));
    snprintf(expected, sizeof expected, "\"%s\" was removed: %s, since ", directory,
             appended.write.error);
    ck_assert_ptr_eq(strstr(text, expected), text);
    ck_assert_ptr_nonnull(strstr(text, "Z (1 request refused)"));
    begin(journal, &appended, VIEW("again"));
    ck_assert_int_eq(await(&appended), JOURNAL_DISK);
    ck_assert(troubled(journal, text, sizeof text));
    ck_assert_ptr_nonnull(strstr(text, "Z (2 requests refused)"));
    unlink(directory);
    ck_assert_int_eq(mkdir(directory, 0700), 0);
    while (troubled(journal, text, sizeof text)) /* without an append */
        sched_yield();
    journal_keep(journal, append_text(journal, "after"));
    journal_close(journal);
    journal = open_journal();
    ck_assert_str_eq(settle_next(journal), "before");
    ck_assert_str_eq(settle_next(journal), "after");
    journal_close(journal);
}
END_TEST

START_TEST(whoever_asks_for_trouble_finds_a_directory_that_is_gone)
{
    char text[256], path[512];
    struct journal *journal = open_journal();
    journal_keep(journal, append_text(journal, "kept"));
    remove_all(directory);
    ck_assert(troubled(journal, text, sizeof text));
    ck_assert_ptr_nonnull(strstr(text, "was removed"));
    while (troubled(journal, text, sizeof text))
        sched_yield();
    ck_assert(find_file(directory, "entries-", path, sizeof path));
    journal_close(journal);
    journal = open_journal();
    ck_assert_str_eq(settle_next(journal), "kept");
    journal_close(journal);
}
END_TEST

static void refuse_one(struct journal *journal, struct view content)
{
    struct appended appended;
    begin(journal, &appended, content);
    ck_assert_int_eq(await(&appended), JOURNAL_DISK);
}

/* back: the same directory comes back, instead of an empty one. */
static void move_away_for_a_while(bool back)
{
    char away[96], first[256], text[256], expected[256], path[512];
    struct journal *journal = open_journal();
    journal_keep(journal, append_text(journal, "before"));
    snprintf(away, sizeof away, "%s.away", directory);
    ck_assert_int_eq(rename(directory, away), 0);
    close(open(directory, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    ck_assert(troubled(journal, first, sizeof first));
    for (int i = 0; i < 3; i++)
        refuse_one(journal, VIEW("meanwhile"));
    ck_assert(troubled(journal, text, sizeof text));
    snprintf(expected, sizeof expected, "\"%s\" was moved away: Not a directory, %.15s (3 req",
             directory, strstr(first, "since "));
    ck_assert_msg(strstr(text, expected) == text, "%s, not %s", text, expected);
    unlink(directory);
    ck_assert_int_eq(back ? rename(away, directory) : mkdir(directory, 0700), 0);
    while (troubled(journal, text, sizeof text))
        sched_yield();
    journal_keep(journal, append_text(journal, "after"));
    journal_close(journal);
    journal = open_journal();
    ck_assert_str_eq(settle_next(journal), "before");
    ck_assert_str_eq(settle_next(journal), "after");
    ck_assert_str_eq(settle_next(journal), "");
    journal_close(journal);
    ck_assert(back || !find_file(away, "entries-", path, sizeof path));
    remove_all(away);
}

START_TEST(a_directory_that_is_moved_away_takes_nothing_until_there_is_one_again)
{
    move_away_for_a_while(true);
    move_away_for_a_while(false);
}
END_TEST

START_TEST(a_directory_comes_back_in_place_of_one_without_room)
{
    char away[96], text[256];
    struct journal *journal = open_journal();
    journal_keep(journal, append_text(journal, "before"));
    snprintf(away, sizeof away, "%s.away", directory);
    ck_assert_int_eq(rename(directory, away), 0);
    ck_assert_int_eq(mkdir(directory, 0700), 0);
    set_room(false);
    refuse_one(journal, VIEW("meanwhile"));
    remove_all(directory);
    ck_assert_int_eq(rename(away, directory), 0);
    set_room(true);
    while (troubled(journal, text, sizeof text))
        sched_yield();
    journal_settle(journal, append_text(journal, "settled"));
    journal_keep(journal, append_text(journal, "after"));
    journal_close(journal);
    journal = open_journal();
    ck_assert_str_eq(settle_next(journal), "before");
    ck_assert_str_eq(settle_next(journal), "after");
    ck_assert_str_eq(settle_next(journal), "");
    journal_close(journal);
}
END_TEST

START_TEST(whether_a_directory_could_be_opened_is_told_without_making_it)
{
    char path[128];
    const char *why;
    struct journal *journal = open_journal();
    ck_assert(journal_could_open(directory, &why));
    journal_close(journal);
    snprintf(path, sizeof path, "%s/a/b/", directory);
    ck_assert(journal_could_open(path, &why));
    ck_assert_int_eq(rmdir(directory), 0);
    ck_assert(journal_could_open(directory, &why));
    close(open(directory, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    ck_assert(!journal_could_open(directory, &why));
    ck_assert_str_eq(why, "Not a directory");
    ck_assert(!journal_could_open(path, &why));
    ck_assert_str_eq(why, "Not a directory");
    unlink(directory);
}
END_TEST

START_TEST(appends_that_come_together_share_a_sync)
{
    enum { TOGETHER = 64 };
    static struct appended appended[TOGETHER];
    struct journal *journal = open_journal();
    for (int i = 0; i < TOGETHER; i++)
        begin(journal, &appended[i], VIEW("one of many"));
    for (int i = 0; i < TOGETHER; i++)
        ck_assert_int_eq(await(&appended[i]), JOURNAL_OK);
    ck_assert_uint_eq(figures_of(journal).appended, TOGETHER);
    ck_assert_uint_lt(figures_of(journal).syncs, TOGETHER);
    journal_close(journal);
}
END_TEST

START_TEST(an_interval_is_no_reason_to_forget)
{
    struct journal *journal = open_with(8 * MIB, 3600 * NS_PER_S);
    journal_keep(journal, append_text(journal, "late"));
    journal_close(journal);
    journal = open_journal();
    ck_assert_str_eq(settle_next(journal), "late");
    journal_close(journal);
}
END_TEST

START_TEST(notes_are_recalled_by_their_owner_until_they_expire)
{
    struct journal *journal = open_journal();
    journal_note(journal, VIEW("a"), VIEW("first"), 3600 * NS_PER_S);
    journal_note(journal, VIEW("b"), VIEW("other"), 3600 * NS_PER_S);
    journal_note(journal, VIEW("a"), VIEW("expired"), 0);
    journal_note(journal, VIEW("a"), VIEW("second"), 3600 * NS_PER_S);
    journal_close(journal);
    journal = open_journal();
    journal_recall(journal, VIEW("a"), recall, NULL);
    ck_assert_str_eq(recalled, "first;second;");
    journal_close(journal);
}
END_TEST

/* A process killed in between would lose both. */
START_TEST(an_entry_stays_until_the_notes_drawn_from_it_are_written)
{
    struct journal *journal = open_journal();
    struct journal_entry *entry = append_text(journal, "one");
    syncs_wait = true;
    journal_note(journal, VIEW("a"), VIEW("drawn from it"), 3600 * NS_PER_S);
    journal_settle(journal, entry);
    ck_assert_uint_eq(figures_of(journal).live, 1);
    syncs_wait = false;
    while (figures_of(journal).live > 0)
        sched_yield();
    journal_close(journal);
    journal = open_journal();
    ck_assert_str_eq(settle_next(journal), "");
    journal_recall(journal, VIEW("a"), recall, NULL);
    ck_assert_str_eq(recalled, "drawn from it;");
    journal_close(journal);
}
END_TEST

/* The keys found for the next entry that was left, as a sum; it is kept. */
static uint64_t keys_of_next(struct journal *journal, const char *text)
{
    struct journal_entry *entry;
    uint64_t keys[4] = {0};
    ck_assert_str_eq(next_left(journal, &entry), text);
    size_t count = journal_delivered_find(journal, entry, keys, 4);
    ck_assert_uint_le(count, 2);
    journal_keep(journal, entry);
    return keys[0] + keys[1];
}

static size_t count_files(const char *folder, const char *prefix)
{
    DIR *list = opendir(folder);
    size_t count = 0;
    for (struct dirent *file; list && (file = readdir(list));)
        count += file->d_name[0] != '.' && strncmp(file->d_name, prefix, strlen(prefix)) == 0;
    if (list)
        closedir(list);
    return count;
}

/* Notes of 20 kB that begin with a number, then waits until they are written. */
static void note_many(struct journal *journal, struct journal_entry *entry, int from, int to)
{
    static char text[20000];
    for (int i = from; i < to; i++) {
        memset(text, '.', sizeof text);
        text[snprintf(text, 8, "%d", i)] = ' ';
        journal_note(journal, VIEW("a"), (struct view){(const uint8_t *)text, sizeof text},
                     3600 * NS_PER_S);
    }
    journal_progress_keep(journal, entry, 1, VIEW("any"));
}

struct numbers {
    int first, last;
    size_t count, most;
};

static bool take_number(void *ctx, struct view content)
{
    struct numbers *numbers = ctx;
    int n = atoi((const char *)content.data);
    ck_assert(numbers->count == 0 || n == numbers->last + 1);
    numbers->first = numbers->count == 0 ? n : numbers->first;
    numbers->last = n;
    return ++numbers->count < numbers->most;
}

static struct numbers recall_numbers(struct journal *journal, size_t most)
{
    struct numbers numbers = {.most = most};
    journal_recall(journal, VIEW("a"), take_number, &numbers);
    return numbers;
}

/* Those of the journal itself stay, since nothing that was delivered may come again. */
START_TEST(many_notes_take_few_files_and_descriptors_and_the_oldest_give_way)
{
    struct journal *journal = open_journal();
    struct journal_entry *entry = append_text(journal, "one");
    journal_delivered(journal, entry, 7);
    note_many(journal, entry, 0, 1);
    size_t descriptors = count_files("/proc/self/fd", "");
    note_many(journal, entry, 1, 200);
    ck_assert_uint_eq(count_files("/proc/self/fd", ""), descriptors);
    ck_assert_uint_le(count_files(directory, "states-"), 4);
    journal_keep(journal, entry);
    journal_close(journal);
    journal = open_journal();
    ck_assert_uint_le(count_files("/proc/self/fd", ""), descriptors);
    struct numbers numbers = recall_numbers(journal, SIZE_MAX);
    ck_assert_int_eq(numbers.last, 199);
    ck_assert_uint_ge(numbers.count, 18);
    ck_assert_uint_eq(recall_numbers(journal, 2).count, 2);
    ck_assert_uint_le(count_files("/proc/self/fd", ""), descriptors);
    ck_assert_uint_eq(keys_of_next(journal, "one"), 7);
    journal_close(journal);
}
END_TEST

static void move_with_many_notes(void)
{
    struct journal *journal = open_journal();
    struct journal_entry *entry = append_text(journal, "one");
    note_many(journal, entry, 0, 18);
    move_directory();
    append_text(journal, "two");
    note_many(journal, entry, 18, 19);
}

/* They are read once more for that. */
START_TEST(notes_in_files_that_are_closed_move_along_with_their_directory)
{
    char away[96];
    in_a_process_that_is_killed(move_with_many_notes);
    struct journal *journal = open_journal();
    ck_assert_uint_eq(recall_numbers(journal, SIZE_MAX).count, 19);
    ck_assert_str_eq(settle_next(journal), "one");
    ck_assert_str_eq(settle_next(journal), "two");
    journal_close(journal);
    snprintf(away, sizeof away, "%s.away", directory);
    remove_all(away);
}
END_TEST

static void remove_with_many_notes(void)
{
    struct journal *journal = open_journal();
    struct journal_entry *entry = append_text(journal, "one");
    note_many(journal, entry, 0, 8);
    remove_directory();
    append_text(journal, "two");
    note_many(journal, entry, 8, 9);
}

START_TEST(notes_in_files_that_are_closed_go_with_them)
{
    in_a_process_that_is_killed(remove_with_many_notes);
    struct journal *journal = open_journal();
    struct numbers numbers = recall_numbers(journal, SIZE_MAX);
    ck_assert_int_eq(numbers.last, 8);
    ck_assert_int_eq(numbers.first, 6); /* six fit into a file */
    ck_assert_str_eq(settle_next(journal), "one");
    ck_assert_str_eq(settle_next(journal), "two");
    journal_close(journal);
}
END_TEST

START_TEST(notes_that_cannot_be_saved_are_told_once_a_minute)
{
    FILE *log = tmpfile();
    ck_assert_int_ge(dup2(fileno(log), STDERR_FILENO), 0);
    struct journal *journal = open_with_fake_clock();
    struct journal_entry *entry = append_text(journal, "one");
    set_room(false);
    for (int i = 0; i < 10; i++)
        note_many(journal, entry, i, i + 1);
    ck_assert_uint_eq(count_lines(log, "state could not be saved"), 1);
    fake_clock_advance(&fake, 60 * NS_PER_S);
    note_many(journal, entry, 10, 11);
    ck_assert_uint_eq(count_lines(log, "state could not be saved"), 2);
    ck_assert_uint_eq(count_lines(log, "\n"), 2);
    set_room(true);
    journal_settle(journal, entry);
    journal_close(journal);
}
END_TEST

START_TEST(what_has_arrived_somewhere_is_written_at_the_close)
{
    struct journal *journal = open_journal();
    struct journal_entry *one = append_text(journal, "one"), *two = append_text(journal, "two");
    struct journal_entry *three = append_text(journal, "three"), *four = append_text(journal, "4");
    append_text(journal, "five");
    journal_delivered(journal, three, 70);
    journal_delivered(journal, one, 70);
    journal_delivered(journal, two, 9);
    journal_delivered(journal, two, 70);
    journal_delivered(journal, four, 9);
    journal_settle(journal, four);
    journal_close(journal);
    for (int i = 0; i < 2; i++) { /* and is still there for a third process */
        journal = open_journal();
        ck_assert_uint_eq(keys_of_next(journal, "one"), 70);
        ck_assert_uint_eq(keys_of_next(journal, "two"), 79);
        ck_assert_uint_eq(keys_of_next(journal, "three"), 70);
        ck_assert_uint_eq(keys_of_next(journal, "five"), 0);
        ck_assert_str_eq(settle_next(journal), "");
        journal_close(journal);
    }
}
END_TEST

/* Writes what has been waiting for a second. The writer may be past it when the first one comes. */
static void pass_a_second(struct journal *journal, struct journal_entry *entry)
{
    fake_clock_advance(&fake, NS_PER_S);
    journal_progress_keep(journal, entry, 1, VIEW("any"));
    journal_progress_keep(journal, entry, 1, VIEW("any"));
}

static void mark_two_in_turn(void)
{
    struct journal *journal = open_journal();
    struct journal_entry *one = append_text(journal, "one"), *two = append_text(journal, "two");
    journal_delivered(journal, one, 7);
    pass_a_second(journal, two);
    journal_delivered(journal, two, 7);
    fake_clock_advance(&fake, NS_PER_S - 1);
    journal_progress_keep(journal, one, 1, VIEW("any"));
}

START_TEST(what_has_arrived_somewhere_for_a_second_survives_a_kill)
{
    fake_clock_init(&fake);
    the_clock = &fake.clock;
    in_a_process_that_is_killed(mark_two_in_turn);
    struct journal *journal = open_journal();
    ck_assert_uint_eq(keys_of_next(journal, "one"), 7);
    ck_assert_uint_eq(keys_of_next(journal, "two"), 0);
    journal_close(journal);
    the_clock = &clock_system;
}
END_TEST

START_TEST(what_is_settled_soon_writes_no_note)
{
    fake_clock_init(&fake);
    the_clock = &fake.clock;
    struct journal *journal = open_journal();
    struct journal_entry *stays = append_text(journal, "stays");
    for (int i = 0; i < 100; i++) {
        struct journal_entry *entry = append_text(journal, "soon");
        journal_delivered(journal, entry, 7);
        journal_settle(journal, entry);
    }
    pass_a_second(journal, stays);
    journal_keep(journal, stays);
    journal_close(journal);
    journal = open_journal();
    journal_recall(journal, VIEW("*delivered"), recall, NULL);
    ck_assert_str_eq(recalled, "");
    journal_close(journal);
    the_clock = &clock_system;
}
END_TEST

/* Appends an entry that has arrived at 7, and settles it once that is noted. */
static void append_note_and_settle(void)
{
    struct journal *journal = open_journal();
    struct journal_entry *entry = append_text(journal, "old");
    journal_delivered(journal, entry, 7);
    pass_a_second(journal, entry);
    journal_settle(journal, entry);
    journal_close(journal);
}

/* All files of entries are gone then, and notes that tell of them are left. */
START_TEST(a_note_is_never_taken_for_one_about_a_later_entry)
{
    fake_clock_init(&fake);
    the_clock = &fake.clock;
    for (int i = 0; i < 3; i++)
        append_note_and_settle();
    struct journal *journal = open_journal();
    journal_keep(journal, append_text(journal, "new"));
    journal_close(journal);
    journal = open_journal();
    ck_assert_uint_eq(keys_of_next(journal, "new"), 0);
    journal_close(journal);
    the_clock = &clock_system;
}
END_TEST

START_TEST(without_memory_nothing_is_noted)
{
    struct budget budget;
    budget_init(&budget, 1 << 20);
    char error[256] = "";
    struct journal_settings settings = {
        .directory = directory, .max_bytes = MIB, .budget = &budget, .clock = &clock_system};
    struct journal *journal = journal_open(&settings, error, sizeof error);
    struct journal_entry *one = append_text(journal, "one"), *two = append_text(journal, "two");
    journal_delivered(journal, two, 7);
    budget_force(&budget, 1 << 20);
    journal_delivered(journal, one, 7);
    budget_give(&budget, 1 << 20);
    journal_close(journal);
    ck_assert_uint_eq(budget_used(&budget), 0);
    journal = open_journal();
    ck_assert_uint_eq(keys_of_next(journal, "one"), 0);
    ck_assert_uint_eq(keys_of_next(journal, "two"), 7);
    journal_close(journal);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("journal");
    TCase *tests = suite_case("journal");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, progress_is_known_after_a_kill_for_its_entry_and_key);
    tcase_add_test(tests, what_was_not_settled_is_found_after_a_kill_in_order);
    tcase_add_test(tests, a_kill_while_they_are_given_out_loses_none);
    tcase_add_test(tests, what_is_kept_at_the_end_is_found_and_what_is_settled_leaves_no_file);
    tcase_add_test(tests, an_empty_and_a_large_content_come_back_whole);
    tcase_add_test(tests, a_directory_is_made_and_has_one_owner);
    tcase_add_test(tests, a_file_cut_anywhere_in_its_last_entry_loses_that_one);
    tcase_add_test(tests, a_flipped_byte_loses_the_entry_that_it_is_in_and_no_other);
    tcase_add_test(tests, a_damaged_mark_gives_its_entry_out_again);
    tcase_add_test(tests, marks_and_small_entries_do_not_get_in_each_others_way);
    tcase_add_test(tests, a_full_journal_refuses_and_takes_again_when_entries_are_settled);
    tcase_add_test(tests, what_could_never_fit_is_told_apart);
    tcase_add_test(tests, a_few_old_entries_do_not_hold_up_the_space_of_many);
    tcase_add_test(tests, a_disk_that_refuses_is_named_and_tried_again);
    tcase_add_test(tests, room_that_comes_and_goes_is_told_once);
    tcase_add_test(tests, deliveries_that_cannot_be_noted_are_told);
    tcase_add_test(tests, only_what_is_written_ends_the_trouble);
    tcase_add_test(tests, what_the_disk_refuses_to_sync_is_refused_and_not_found);
    tcase_add_test(tests, the_name_of_a_file_is_on_the_disk_before_the_answer);
    tcase_add_test(tests, a_mark_is_good_for_its_own_slot_alone);
    tcase_add_test(tests, what_was_in_files_that_are_removed_is_written_anew);
    tcase_add_test(tests, a_directory_that_comes_back_is_used_again);
    tcase_add_test(tests, whoever_asks_for_trouble_finds_a_directory_that_is_gone);
    tcase_add_test(tests, a_directory_that_is_moved_away_takes_nothing_until_there_is_one_again);
    tcase_add_test(tests, a_directory_comes_back_in_place_of_one_without_room);
    tcase_add_test(tests, whether_a_directory_could_be_opened_is_told_without_making_it);
    tcase_add_test(tests, appends_that_come_together_share_a_sync);
    tcase_add_test(tests, an_interval_is_no_reason_to_forget);
    tcase_add_test(tests, notes_are_recalled_by_their_owner_until_they_expire);
    tcase_add_test(tests, many_notes_take_few_files_and_descriptors_and_the_oldest_give_way);
    tcase_add_test(tests, notes_in_files_that_are_closed_move_along_with_their_directory);
    tcase_add_test(tests, notes_in_files_that_are_closed_go_with_them);
    tcase_add_test(tests, notes_that_cannot_be_saved_are_told_once_a_minute);
    tcase_add_test(tests, an_entry_stays_until_the_notes_drawn_from_it_are_written);
    tcase_add_test(tests, what_has_arrived_somewhere_is_written_at_the_close);
    tcase_add_test(tests, what_has_arrived_somewhere_for_a_second_survives_a_kill);
    tcase_add_test(tests, what_is_settled_soon_writes_no_note);
    tcase_add_test(tests, a_note_is_never_taken_for_one_about_a_later_entry);
    tcase_add_test(tests, without_memory_nothing_is_noted);
    tcase_add_test(tests, what_is_settled_after_a_kill_does_not_come_again);
    tcase_add_test(tests, a_mark_is_never_written_over_an_entry);
    suite_add_tcase(suite, tests);
    return suite_finish(suite);
}
