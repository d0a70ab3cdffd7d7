#include "lib/wire/value/attributes.h"

#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

static struct arena arena;
static char why[VALUE_WHY_SIZE];

static void json_of(const char *json, const char *want)
{
    struct value value;
    arena_init(&arena, 1 << 20);
    ck_assert_msg(value_from_json(view_of(json), &arena, &value, why), "%s", json);
    struct view text = value_text(&value, &arena);
    ck_assert_msg(view_eq(text, view_of(want)), "%.*s", VIEW_ARG(text));
    arena_release(&arena);
}

START_TEST(json_is_read_and_written)
{
    json_of("{\"b\": 1, \"a\": [true, null, \"x\\u00e9\\n\"]}",
            "{\"a\":[true,null,\"x\xc3\xa9\\n\"],\"b\":1}");
    json_of("[]", "[]");
    json_of("{}", "{}");
    json_of("1.5e300", "1.5e+300");
    json_of("\"plain\"", "plain");
}
END_TEST

START_TEST(what_is_no_json_is_refused)
{
    static const char *const texts[][2] = {
        {"", "the text ends too soon, at byte 1"},
        {"{", "the text ends too soon, at byte 2"},
        {"[1,]", "expected a value, at byte 4"},
        {"{\"a\" 1}", "expected :, at byte 6"},
        {"tru", "expected a value, at byte 1"},
        {"1 2", "expected nothing more, at byte 3"},
        {"\"x", "the text ends too soon, at byte 3"},
        {"[1e999]",
         "expected a number that a double holds, of fewer than 64 characters, at byte 7"},
    };
    struct value value;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        arena_init(&arena, 1 << 20);
        ck_assert_msg(!value_from_json(view_of(texts[i][0]), &arena, &value, why), "%s",
                      texts[i][0]);
        ck_assert_str_eq(why, texts[i][1]);
        arena_release(&arena);
    }
    char deep[102] = "";
    memset(deep, '[', 101);
    arena_init(&arena, 1 << 20);
    ck_assert(!value_from_json(view_of(deep), &arena, &value, why));
    ck_assert_str_eq(why, "expected at most 100 levels, at byte 101");
    arena_release(&arena);
}
END_TEST

static void number_of(double number, const char *want)
{
    char text[40];
    size_t size = value_number_text(number, text);
    ck_assert_msg(view_eq((struct view){(uint8_t *)text, size}, view_of(want)), "%.*s", (int)size,
                  text);
}

START_TEST(numbers_are_the_shortest_text)
{
    number_of(0, "0");
    number_of(1, "1");
    number_of(-0.125, "-0.125");
    number_of(1.0 / 3, "0.3333333333333333");
    number_of(1e21, "1e+21");
    number_of(1e20, "100000000000000000000");
    number_of(1.5e-9, "1.5e-9");
    number_of(0.000001, "0.000001");
    number_of(1e22, "1e+22");
}
END_TEST

START_TEST(a_list_is_edited_in_place)
{
    struct view message = PB_JOIN(pb_attribute(9, "a", "1"), PB_TEXT(5, "name"),
                                  pb_attribute(9, "b", "2"), pb_attribute(9, "c", "3"));
    struct attributes list;
    struct value value = value_int(7);
    uint8_t out[256];
    arena_init(&arena, 1 << 20);
    attributes_read(&list, message, 9, &arena);
    ck_assert_uint_eq(attributes_count(&list), 3);
    ck_assert(attributes_delete(&list, VIEW("b")));
    ck_assert(!attributes_delete(&list, VIEW("b")));
    attributes_set(&list, VIEW("d"), &value);
    attributes_set(&list, VIEW("a"), &value);
    size_t size = attributes_size(&list, 9);
    ck_assert_ptr_eq(attributes_put(out, &list, 9), out + size);
    attributes_read(&list, (struct view){out, size}, 9, &arena);
    ck_assert_uint_eq(list.count, 3);
    ck_assert(attributes_get(&list, VIEW("a"), &value));
    ck_assert_int_eq(value.integer, 7);
    ck_assert(attributes_get(&list, VIEW("c"), &value));
    ck_assert(view_eq(value.bytes, VIEW("3")));
    arena_release(&arena);
}
END_TEST

/* Long enough for an index, which grows with it. */
START_TEST(a_long_list_is_found_by_key)
{
    enum { MANY = 60000 };
    static char keys[MANY][24];
    struct attributes list;
    struct value value;
    arena_init(&arena, (size_t)64 << 20);
    attributes_read(&list, pb_attribute(1, "first", "1"), 1, &arena);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < MANY; i++) {
            snprintf(keys[i], sizeof keys[i], "key.number.%d", i);
            value = value_int(i + round);
            attributes_set(&list, view_of(keys[i]), &value);
        }
    ck_assert_uint_eq(attributes_count(&list), MANY + 1);
    ck_assert(attributes_get(&list, VIEW("first"), &value));
    ck_assert(attributes_get(&list, VIEW("key.number.777"), &value));
    ck_assert_int_eq(value.integer, 778);
    ck_assert(attributes_delete(&list, VIEW("key.number.777")));
    ck_assert(!attributes_find(&list, VIEW("key.number.777")));
    attributes_set(&list, VIEW("key.number.777"), &value);
    ck_assert_ptr_eq(attributes_find(&list, VIEW("key.number.777")), &list.items[MANY + 1]);
    attributes_name(&list, &list.items[1], VIEW("renamed"));
    for (int i = 0; i < 20; i++)
        ck_assert_ptr_eq(attributes_find(&list, VIEW("renamed")), &list.items[1]);
    ck_assert(!attributes_find(&list, VIEW("key.number.0")));
    arena_release(&arena);
}
END_TEST

/* Pairs of words that multiplications and shifts take to the same, whatever a hash begins with. */
START_TEST(keys_that_are_made_to_collide_are_found)
{
    enum { PAIRS = 17, MANY = 1 << PAIRS, SIZE = 16 * PAIRS };
    uint8_t *keys = malloc((size_t)MANY * SIZE);
    struct attributes list;
    arena_init(&arena, (size_t)128 << 20);
    attributes_read(&list, VIEW(""), 1, &arena);
    for (size_t i = 0; i < MANY; i++) {
        struct view key = {keys + i * SIZE, SIZE};
        for (unsigned k = 0; k < PAIRS; k++) {
            uint64_t words[2] = {k, k};
            words[0] ^= (uint64_t)(i >> k & 1) << 63;
            words[1] ^= (uint64_t)(i >> k & 1) << 63 ^ (uint64_t)(i >> k & 1) << 34;
            memcpy(keys + i * SIZE + 16 * k, words, sizeof words);
        }
        attributes_add(&list, key, VIEW(""));
    }
    for (size_t i = 0; i < 100; i++)
        ck_assert_ptr_eq(attributes_find(&list, list.items[i].key), &list.items[i]);
    arena_release(&arena);
    free(keys);
}
END_TEST

START_TEST(of_equal_keys_the_first_is_found)
{
    enum { MANY = 300 };
    struct attributes list;
    arena_init(&arena, (size_t)1 << 20);
    attributes_read(&list, VIEW(""), 1, &arena);
    for (int i = 0; i < MANY; i++)
        attributes_add(&list, VIEW("same"), VIEW(""));
    for (int i = 0; i < MANY; i++) {
        ck_assert_ptr_eq(attributes_find(&list, VIEW("same")), &list.items[i]);
        attributes_remove(&list, &list.items[i]);
    }
    ck_assert(!attributes_find(&list, VIEW("same")));
    arena_release(&arena);
}
END_TEST

/* Without an end in a test's time, if each search went over all of them. */
START_TEST(many_equal_keys_are_set_again_and_again)
{
    enum { MANY = 500000 };
    struct attributes list;
    struct value value = value_string(VIEW("1"));
    arena_init(&arena, SIZE_MAX / 2);
    attributes_read(&list, VIEW(""), 1, &arena);
    struct view any = value_any(&value, &arena);
    for (int i = 0; i < MANY; i++)
        attributes_add(&list, i % 2 ? VIEW("odd") : VIEW("even"), any);
    for (int i = 0; i < MANY; i++) {
        attributes_set_any(&list, VIEW("even"), any);
        if (i == MANY / 2)
            ck_assert(attributes_delete(&list, VIEW("odd")));
        if (i % 1000 == 0)
            attributes_add(&list, VIEW("even"), any);
    }
    attributes_set_any(&list, VIEW("even"), any);
    ck_assert_uint_eq(attributes_count(&list), 1);
    ck_assert_ptr_eq(attributes_find(&list, VIEW("even")), &list.items[0]);
    ck_assert(!attributes_find(&list, VIEW("odd")));
    arena_release(&arena);
}
END_TEST

/* Keys of one size that differ in one byte, which is not what attributes_find looks at first. */
static size_t having(const struct attributes *list, const char *key)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += !list->items[i].gone && view_eq(list->items[i].key, view_of(key));
    return count;
}

START_TEST(no_second_value_of_a_key_stays)
{
    struct value one = value_string(VIEW("1"));
    for (int many = 3; many <= 3000; many *= 10) {
        struct attributes list;
        struct view any;
        arena_init(&arena, 1 << 24);
        attributes_read(&list, VIEW(""), 9, &arena);
        any = value_any(&one, &arena);
        for (int i = 0; i < many; i++)
            attributes_add(&list, i % 3 ? VIEW("set") : VIEW("deleted"), any);
        attributes_add(&list, VIEW("other"), any);
        for (int i = 0; i < 20; i++)
            ck_assert_ptr_nonnull(attributes_find(&list, VIEW("other")));
        attributes_set(&list, VIEW("set"), &one);
        ck_assert_uint_eq(having(&list, "set"), 1);
        ck_assert(attributes_delete(&list, VIEW("deleted")));
        ck_assert_uint_eq(having(&list, "deleted"), 0);
        ck_assert(!attributes_delete(&list, VIEW("deleted")));
        attributes_set(&list, VIEW("deleted"), &one);
        ck_assert_uint_eq(having(&list, "deleted"), 1);
        ck_assert_ptr_nonnull(attributes_find(&list, VIEW("deleted")));
        arena_release(&arena);
    }
}
END_TEST

START_TEST(ottl_has_json_of_its_own)
{
    static const uint8_t nan_list[] = {10, 9, 33, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f};
    struct value value, list = {.kind = VALUE_LIST, .bytes = {nan_list, sizeof nan_list}};
    bool not_json;
    arena_init(&arena, 1 << 20);
    ck_assert(value_from_json(VIEW("[\"<\\b\\u2028\x7f\", 1e-7]"), &arena, &value, why));
    ck_assert(view_eq(value_text(&value, &arena), VIEW("[\"<\\b\\u2028\x7f\",1e-7]")));
    ck_assert(view_eq(value_ottl_text(&value, &arena, &not_json),
                      VIEW("[\"\\u003c\\u0008\\u2028\x7f\",1e-07]")));
    ck_assert(!not_json);
    ck_assert(view_eq(value_text(&list, &arena), VIEW("")));
    value_ottl_text(&list, &arena, &not_json);
    ck_assert(not_json);
    value = (struct value){.kind = VALUE_LIST,
                           .bytes = VIEW("\x0a\x04\x0a\x02\xff"
                                         "a")};
    ck_assert(view_eq(value_text(&value, &arena), VIEW("[\"\\ufffda\"]")));
    arena_release(&arena);
}
END_TEST

START_TEST(the_last_of_several_json_keys_counts)
{
    json_of("{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}");
    json_of("{\"a\":1,\"\\u0061\":3}", "{\"a\":3}");
    json_of("[{\"a\":{\"x\":1,\"x\":{}},\"a\":{\"y\":1,\"y\":2}}]", "[{\"a\":{\"y\":2}}]");
}
END_TEST

START_TEST(keys_are_told_apart_by_every_byte)
{
    enum { LONGEST = 40 };
    static char keys[LONGEST + 1][LONGEST];
    for (size_t size = 2; size <= LONGEST; size++) {
        struct attributes list;
        arena_init(&arena, 1 << 20);
        attributes_read(&list, VIEW(""), 1, &arena);
        for (size_t i = 0; i < size; i++) {
            memset(keys[i], 'k', size);
            keys[i][i] = i + 1 < size ? 'x' : 'k';
            attributes_add(&list, (struct view){(uint8_t *)keys[i], size}, VIEW(""));
        }
        for (size_t i = 0; i < size; i++)
            ck_assert_ptr_eq(attributes_find(&list, (struct view){(uint8_t *)keys[i], size}),
                             &list.items[i]);
        ck_assert(!attributes_find(&list, (struct view){(uint8_t *)keys[0], size - 1}));
        arena_release(&arena);
    }
}
END_TEST

START_TEST(what_a_list_held_before_is_not_found)
{
    struct attributes list;
    arena_init(&arena, 1 << 20);
    attributes_read(&list, PB_JOIN(pb_attribute(1, "a", "1"), pb_attribute(1, "b", "2")), 1,
                    &arena);
    ck_assert_ptr_eq(attributes_find(&list, VIEW("b")), &list.items[1]);
    list.count = 1;
    ck_assert(!attributes_find(&list, VIEW("b")));
    arena_release(&arena);
}
END_TEST

START_TEST(maps_are_equal_whatever_their_order)
{
    struct value a, b, c;
    arena_init(&arena, 1 << 20);
    ck_assert(value_from_json(VIEW("{\"x\": 1, \"y\": [1, 2]}"), &arena, &a, why));
    ck_assert(value_from_json(VIEW("{\"y\": [1, 2], \"x\": 1}"), &arena, &b, why));
    ck_assert(value_from_json(VIEW("{\"y\": [2, 1], \"x\": 1}"), &arena, &c, why));
    ck_assert(value_equal(&a, &b));
    ck_assert(!value_equal(&a, &c));
    arena_release(&arena);
}
END_TEST

START_TEST(memory_that_runs_out_is_said)
{
    struct attributes list;
    struct value value = value_string(VIEW("a text that has no room"));
    arena_init(&arena, 1 << 20);
    arena.cap = 8;
    attributes_read(&list, pb_attribute(1, "a", "1"), 1, &arena);
    ck_assert(list.failed);
    attributes_set(&list, VIEW("b"), &value);
    ck_assert_uint_eq(attributes_count(&list), 0);
    arena_release(&arena);
}
END_TEST

SUITE_MAIN("value", json_is_read_and_written, what_is_no_json_is_refused,
           numbers_are_the_shortest_text, a_list_is_edited_in_place, a_long_list_is_found_by_key,
           keys_that_are_made_to_collide_are_found, of_equal_keys_the_first_is_found,
           many_equal_keys_are_set_again_and_again, no_second_value_of_a_key_stays,
           the_last_of_several_json_keys_counts, ottl_has_json_of_its_own,
           keys_are_told_apart_by_every_byte, what_a_list_held_before_is_not_found,
           maps_are_equal_whatever_their_order, memory_that_runs_out_is_said)
