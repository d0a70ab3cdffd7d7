#include "receivers/kafka/topics.h"

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

SUITE_MAIN("topics", equal_counts_agree, different_counts_are_all_named,
           a_missing_topic_is_waited_for, a_long_list_is_cut)
