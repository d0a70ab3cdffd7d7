#include "lib/settings/yaml.h"

#include "tests/lib/settings/given.h"

static void parses(const char *text, const char *want)
{
    struct arena arena;
    struct problems problems = {0};
    arena_init(&arena, 1 << 20);
    const struct node *root = yaml_parse(&arena, view_of(text), "f", &problems);
    char *faults = given_sentences(&problems);
    char *flow = given_flow(root);
    ck_assert_str_eq(faults, "");
    ck_assert_str_eq(flow, want);
    free(faults);
    free(flow);
    arena_release(&arena);
}

static void refuses(const char *text, const char *want)
{
    struct arena arena;
    struct problems problems = {0};
    arena_init(&arena, 8 << 20);
    const struct node *root = yaml_parse(&arena, view_of(text), "f", &problems);
    char *faults = given_sentences(&problems);
    ck_assert_str_eq(faults, want);
    ck_assert_ptr_null(root);
    free(faults);
    arena_release(&arena);
}

START_TEST(reads_what_collector_files_are_made_of)
{
    parses("receivers:\n  otlp:\n    protocols:\n      grpc:\n      http: {endpoint: 'a:1'}\n",
           "{receivers: {otlp: {protocols: {grpc: null, http: {endpoint: 'a:1'}}}}}");
    parses("a: [x, 1, 'y', \"z\", ~]\nb: |\n  text\nc: >-\n  one\n  two\n",
           "{a: [x, 1, 'y', 'z', null], b: 'text\n', c: 'one two'}");
    parses("- a\n-\n  - b: c\n    d:\n", "[a, [{b: c, d: null}]]");
}
END_TEST

START_TEST(empty_texts_are_null)
{
    parses("", "null");
    parses("# only words\n", "null");
    parses("---\n", "null");
}
END_TEST

START_TEST(a_byte_order_mark_is_no_content)
{
    parses("\xef\xbb\xbf"
           "a: b\n",
           "{a: b}");
}
END_TEST

START_TEST(aliases_are_copies)
{
    parses("a: &x {b: 1}\nc: *x\nd: [*x, &y z, *y]\n", "{a: {b: 1}, c: {b: 1}, d: [{b: 1}, z, z]}");
}
END_TEST

START_TEST(merge_keys_fill_in_what_is_not_given)
{
    parses("x: &x {a: 1, b: 2}\ny:\n  b: 3\n  <<: *x\n", "{x: {a: 1, b: 2}, y: {b: 3, a: 1}}");
    parses("x: &x {a: 1}\nz: &z {a: 2, c: 3}\ny: {<<: [*x, *z]}\n",
           "{x: {a: 1}, z: {a: 2, c: 3}, y: {a: 1, c: 3}}");
    parses("y: {'<<': 1}\n", "{y: {<<: 1}}");
}
END_TEST

START_TEST(merge_keys_take_maps_only)
{
    refuses("y:\n  <<: 3\n", "f:2: y: a merge key (<<) takes a map or a list of maps\n");
    refuses("y:\n  <<: [{a: 1}, 3]\n", "f:2: y: a merge key (<<) takes a map or a list of maps\n");
}
END_TEST

START_TEST(a_key_given_twice_names_both_lines)
{
    refuses("a:\n  b: 1\n  c: 2\n  b: 3\n", "f:4: a.b: this key is given twice, first in line 2\n");
    refuses("l:\n- x: 1\n  x: 2\n", "f:3: l.0.x: this key is given twice, first in line 2\n");
}
END_TEST

#define NO_BREAK "\xc2\xa0"

START_TEST(blanks_and_quotes_that_are_none_are_named_with_their_column)
{
    refuses("a: {b:" NO_BREAK "1}\n",
            "f:1: a: found a no-break space (U+00A0) in column 7, expected a plain space\n");
    refuses(
        "\xc3\xbc:\n - \xc3\xbc " NO_BREAK ": 1\n",
        "f:2: \xc3\xbc.0: found a no-break space (U+00A0) in column 6, expected a plain space\n");
    refuses("a:\n  \xe2\x80\x9c"
            "b\xe2\x80\x9d: 1\n",
            "f:2: a: found \xe2\x80\x9c (U+201C) in column 3, expected a plain quote\n");
    refuses("a:\n  b:" NO_BREAK "1\n  c: 2\n",
            "f:3: not valid YAML: mapping values are not allowed in this context (line 2 has a "
            "no-break space (U+00A0) in column 5)\n");
    parses("'a" NO_BREAK "': b" NO_BREAK "c\na\xe2\x80\x99s: 1\n",
           "{a" NO_BREAK ": b" NO_BREAK "c, a\xe2\x80\x99s: 1}");
}
END_TEST

START_TEST(syntax_errors_name_their_line)
{
    refuses("a: [1\nb: 2\n", "f:2: not valid YAML: did not find expected ',' or ']' while parsing "
                             "a flow sequence\n");
    refuses("a:\n\t- x\n", "f:2: not valid YAML: found character that cannot start any token (a "
                           "tab; YAML indents with spaces) while scanning for the next token\n");
    refuses("a: b\nc: \xff\n", "f:2: not valid YAML: invalid leading UTF-8 octet\n");
    refuses("a: b\nc: \x01\n", "f:2: not valid YAML: control characters are not allowed\n");
}
END_TEST

START_TEST(aliases_need_their_anchor)
{
    refuses("a: *x\n", "f:1: a: an alias (*) to an anchor (&) that does not exist\n");
    refuses("a: &x\n  b: *x\n", "f:2: a.b: an alias (*) inside the anchor (&) that it refers to\n");
}
END_TEST

START_TEST(aliases_that_multiply_are_refused)
{
    char text[2000] = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
    for (char c = 'b'; c < 'k'; c++)
        sprintf(text + strlen(text), "%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c,
                c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1);
    struct arena arena;
    struct problems problems = {0};
    arena_init(&arena, 1 << 20);
    ck_assert_ptr_null(yaml_parse(&arena, view_of(text), "f", &problems));
    ck_assert_uint_eq(problems.count, 1);
    ck_assert_ptr_nonnull(strstr(problems.lines[0], "the configuration is too large"));
    problems_release(&problems);
    arena_release(&arena);
}
END_TEST

START_TEST(nesting_ends_somewhere)
{
    char text[400] = "";
    struct arena arena;
    struct problems problems = {0};
    memset(text, '[', 150);
    arena_init(&arena, 1 << 20);
    ck_assert_ptr_null(yaml_parse(&arena, view_of(text), "f", &problems));
    char *faults = given_sentences(&problems);
    ck_assert_ptr_nonnull(strstr(faults, ".0: nested too deep, expected at most 100 levels\n"));
    free(faults);
    arena_release(&arena);
}
END_TEST

START_TEST(tags_of_types_are_fine)
{
    parses("a: !!str 12\nb: !!int 12\nc: !!map {}\n", "{a: '12', b: 12, c: {}}");
    parses("a: !!float 12\nb: !!float 1.5\n", "{a: 12.0, b: 1.5}");
    parses("a: !!binary aGVsbG8=\n", "{a: 'hello'}");
    parses("a: !!binary |\n  MTIz\n  NDU2\n", "{a: '123456'}");
    refuses("a: !!binary '?'\n", "f:1: a: not base64, which !!binary takes\n");
    refuses("a: !!binary AA==\n", "f:1: a: a text with a NUL character in it\n");
    refuses("a:\n  - !vault x\n", "f:2: a.0: an unknown tag (!)\n");
}
END_TEST

START_TEST(one_document_is_one_configuration)
{
    refuses("a: b\n---\nc: d\n", "f:3: a second document (---) starts here, one is expected\n");
}
END_TEST

START_TEST(keys_are_words)
{
    refuses("? [a, b]\n: c\n", "f:1: a key must be a plain word, not a map or a list\n");
    refuses("a: \"x\\0y\"\n", "f:1: a: a text with a NUL character in it\n");
}
END_TEST

START_TEST(values_stand_in_the_line_of_their_key)
{
    struct arena arena;
    struct problems problems = {0};
    arena_init(&arena, 1 << 20);
    const struct node *root =
        yaml_parse(&arena, view_of("a:\n  b:\n    c: 1\nl:\n  - x\n"), "f", &problems);
    ck_assert_uint_eq(node_get(root, "a")->line, 1);
    ck_assert_uint_eq(node_nearest(root, "a.b")->line, 2);
    ck_assert_uint_eq(node_nearest(root, "a.b.c")->line, 3);
    ck_assert_uint_eq(node_get(root, "l")->items[0]->line, 5);
    ck_assert_str_eq(node_get(root, "a")->file, "f");
    arena_release(&arena);
}
END_TEST

START_TEST(any_lack_of_memory_is_a_clean_refusal)
{
    static const char text[] = "x: &x {a: 1, b: [c, d]}\ny: {<<: *x, e: *x}\nz: [1, 2, 3, 4, 5]\n";
    bool done = false;
    for (size_t cap = 0; cap < 100000 && !done; cap += 16) {
        struct arena arena;
        struct problems problems = {0};
        arena_init(&arena, cap);
        done = yaml_parse(&arena, view_of(text), "f", &problems);
        ck_assert_int_eq(done, problems.count == 0);
        problems_release(&problems);
        arena_release(&arena);
    }
    ck_assert(done);
}
END_TEST

int main(void)
{
    return suite_run("yaml", (const TTest *const[]){
                                 reads_what_collector_files_are_made_of,
                                 empty_texts_are_null,
                                 a_byte_order_mark_is_no_content,
                                 aliases_are_copies,
                                 merge_keys_fill_in_what_is_not_given,
                                 merge_keys_take_maps_only,
                                 a_key_given_twice_names_both_lines,
                                 syntax_errors_name_their_line,
                                 blanks_and_quotes_that_are_none_are_named_with_their_column,
                                 aliases_need_their_anchor,
                                 aliases_that_multiply_are_refused,
                                 nesting_ends_somewhere,
                                 tags_of_types_are_fine,
                                 one_document_is_one_configuration,
                                 keys_are_words,
                                 values_stand_in_the_line_of_their_key,
                                 any_lack_of_memory_is_a_clean_refusal,
                                 NULL,
                             });
}
