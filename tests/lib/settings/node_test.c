#include "lib/settings/node.h"

#include "tests/lib/settings/given.h"

START_TEST(the_nearest_node_of_a_path_is_found_through_dotted_keys)
{
    struct problems problems = {0};
    struct settings *settings = given_load(
        &problems, "yaml:{a: {b: {service.name: x, service: {name: y}}, c: [{d: z}, 1]}}", NULL,
        NULL);
    const struct node *root = settings_root(settings);
    ck_assert_str_eq(node_nearest(root, "a.b.service.name")->text, "x");
    ck_assert_ptr_eq(node_nearest(root, "a.b.c.d"), node_nearest(root, "a.b"));
    ck_assert_str_eq(node_nearest(root, "a.c[0].d")->text, "z");
    ck_assert_str_eq(node_nearest(root, "a.c[1]")->text, "1");
    ck_assert_ptr_eq(node_nearest(root, "a.c[2].d"), node_nearest(root, "a.c"));
    ck_assert_ptr_eq(node_nearest(root, ""), root);
    ck_assert_ptr_eq(node_nearest(root, NULL), root);
    ck_assert_ptr_null(node_nearest(NULL, "a"));
    settings_free(settings);
}
END_TEST

static bool equal(const char *a, const char *b)
{
    struct problems problems = {0};
    struct settings *one = given_load(&problems, a, NULL, NULL);
    struct settings *other = given_load(&problems, b, NULL, NULL);
    bool is = node_equal(settings_root(one), settings_root(other));
    settings_free(one);
    settings_free(other);
    return is;
}

START_TEST(trees_are_equal_by_value_wherever_they_stand)
{
    ck_assert(equal("yaml:{a: {b: [1, x], c: }}", "yaml:a:\n  b: [1, x]\n  c:\n"));
    ck_assert(!equal("yaml:{a: {b: 1}}", "yaml:{a: {b: 2}}"));
    ck_assert(!equal("yaml:{a: {b: 1}}", "yaml:{a: {c: 1}}"));
    ck_assert(!equal("yaml:{a: {b: 1}}", "yaml:{a: {b: 1, c: 1}}"));
    ck_assert(!equal("yaml:{a: [1, 2]}", "yaml:{a: [1]}"));
    ck_assert(!equal("yaml:{a: 1}", "yaml:{a: '1'}"));
    ck_assert(!equal("yaml:{a: }", "yaml:{a: {}}"));
}
END_TEST

START_TEST(getting_from_what_is_no_map_gives_nothing)
{
    const struct node scalar = {.kind = NODE_SCALAR, .text = "x"};
    ck_assert_ptr_null(node_get(&scalar, "x"));
    ck_assert_ptr_null(node_get(NULL, "x"));
}
END_TEST

int main(void)
{
    return suite_run("node", (const TTest *const[]){
                                 the_nearest_node_of_a_path_is_found_through_dotted_keys,
                                 trees_are_equal_by_value_wherever_they_stand,
                                 getting_from_what_is_no_map_gives_nothing,
                                 NULL,
                             });
}
