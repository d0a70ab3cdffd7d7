#include "lib/settings/problems.h"

#include "tests/lib/settings/given.h"

static void says(const struct node *node, const char *path, const char *want)
{
    struct problems problems = {0};
    problems_add(&problems, node, path, "found %d, expected %d", 1, 2);
    char *text = given_sentences(&problems);
    ck_assert_str_eq(text, want);
    free(text);
}

START_TEST(a_sentence_names_file_line_and_path)
{
    says(&(struct node){.file = "f.yaml", .line = 7}, "a.b",
         "f.yaml:7: a.b: found 1, expected 2\n");
    says(&(struct node){.file = "f.yaml"}, NULL, "f.yaml: found 1, expected 2\n");
    says(NULL, "a.b", "a.b: found 1, expected 2\n");
    says(NULL, "", "found 1, expected 2\n");
}
END_TEST

START_TEST(a_set_names_its_path_once)
{
    const struct node node = {.file = "--set a.b", .line = 1};
    says(&node, "a.b", "--set a.b: found 1, expected 2\n");
    says(&node, "a.b.d", "--set a.b: a.b.d: found 1, expected 2\n");
    says(&node, "a", "--set a.b: a: found 1, expected 2\n");
}
END_TEST

START_TEST(a_sentence_is_one_line)
{
    struct problems problems = {0};
    problems_add(&problems, NULL, NULL, "a\nb\tc");
    char *text = given_sentences(&problems);
    ck_assert_str_eq(text, "a\\nb\\tc\n");
    free(text);
}
END_TEST

int main(void)
{
    return suite_run("problems", (const TTest *const[]){
                                     a_sentence_names_file_line_and_path,
                                     a_set_names_its_path_once,
                                     a_sentence_is_one_line,
                                     NULL,
                                 });
}
