#include "lib/kafka/topics.h"

#include "tests/support/suite.h"

static char error[256];

START_TEST(equal_counts_agree)
{
    const struct topic_count counts[] = {{"a", 6}, {"b", 6}, {"c", 6}};
    ck_assert(topics_agree(counts, 3, error, sizeof error));
    ck_assert(topics_agree(counts, 1, error, sizeof error));
    ck_assert_ptr_null(topics_missing(counts, 3));
}
END_TEST

START_TEST(different_counts_are_all_named)
{
    const struct topic_count counts[] = {{"otlp_spans", 12}, {"otlp_profiles", 6}, {"logs", 12}};
    ck_assert(!topics_agree(counts, 3, error, sizeof error));
    ck_assert_str_eq(error, "otlp_spans has 12, otlp_profiles has 6, logs has 12 partitions: spans "
                            "and profiles of a process meet only if all topics have equally many");
}
END_TEST

START_TEST(a_missing_topic_is_waited_for)
{
    const struct topic_count counts[] = {{"a", 6}, {"b", 0}, {"c", -1}};
    ck_assert(topics_agree(counts, 3, error, sizeof error));
    ck_assert_str_eq(topics_missing(counts, 3)->topic, "b");
    const struct topic_count unequal[] = {{"a", 6}, {"b", 0}, {"c", 3}};
    ck_assert(!topics_agree(unequal, 3, error, sizeof error));
}
END_TEST

START_TEST(a_long_list_is_cut)
{
    char small[24];
    const struct topic_count counts[] = {{"a_long_name", 6}, {"another_long_name", 7}};
    ck_assert(!topics_agree(counts, 2, small, sizeof small));
    ck_assert_str_eq(small, "a_long_name has 6, anot");
}
END_TEST

START_TEST(what_changes_is_told_once_with_the_numbers)
{
    const struct topic_count none[] = {{"spans", 0}, {"profiles", -1}};
    const struct topic_count six[] = {{"spans", 6}, {"profiles", 6}};
    const struct topic_count raised[] = {{"spans", 12}, {"profiles", 6}};
    const struct topic_count both[] = {{"spans", 12}, {"profiles", 12}};
    ck_assert_int_eq(topics_compare(none, six, 2, error, sizeof error), TOPICS_SAME);
    ck_assert_int_eq(topics_compare(six, raised, 2, error, sizeof error), TOPICS_DISAGREE);
    ck_assert_str_eq(error,
                     "topic spans has 12 partitions now, 6 before; spans has 12, profiles has 6 "
                     "partitions: spans and profiles of a process meet only if all topics have "
                     "equally many");
    ck_assert_int_eq(topics_compare(raised, raised, 2, error, sizeof error), TOPICS_SAME);
    ck_assert_int_eq(topics_compare(raised, both, 2, error, sizeof error), TOPICS_CHANGED);
    ck_assert_str_eq(error, "topic profiles has 12 partitions now, 6 before");
    ck_assert_int_eq(topics_compare(six, both, 2, error, sizeof error), TOPICS_CHANGED);
    ck_assert_str_eq(error, "topic spans has 12 partitions now, 6 before, topic profiles has 12 "
                            "partitions now, 6 before");
    ck_assert_int_eq(topics_compare(both, none, 2, error, sizeof error), TOPICS_SAME);
}
END_TEST

START_TEST(topics_that_differ_from_the_start_are_told_of)
{
    const struct topic_count none[] = {{"spans", 0}, {"profiles", 0}};
    const struct topic_count unequal[] = {{"spans", 3}, {"profiles", 4}};
    ck_assert_int_eq(topics_compare(none, unequal, 2, error, sizeof error), TOPICS_DISAGREE);
    ck_assert_str_eq(error, "spans has 3, profiles has 4 partitions: spans and profiles of a "
                            "process meet only if all topics have equally many");
}
END_TEST

SUITE_MAIN("topics", equal_counts_agree, different_counts_are_all_named,
           a_missing_topic_is_waited_for, a_long_list_is_cut,
           what_changes_is_told_once_with_the_numbers,
           topics_that_differ_from_the_start_are_told_of)
