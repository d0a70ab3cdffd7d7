#include "tests/lib/settings/box.h"
#include "tests/lib/settings/given.h"

START_TEST(rows_are_found_by_path)
{
    ck_assert_str_eq(keys_find(box_rows, "grpc.limit")->text, "how much");
    ck_assert_str_eq(keys_find(box_rows, "headers.X-Scope.OrgID")->name, "headers");
    ck_assert_str_eq(keys_find(box_rows, "peers.host")->text, "which");
    ck_assert_ptr_null(keys_find(box_rows, "grpc.nothing"));
    ck_assert_ptr_null(keys_find(box_rows, "count.more"));
    ck_assert_ptr_null(keys_find(box_rows, "cou"));
}
END_TEST

START_TEST(secrets_are_known_by_path)
{
    ck_assert(keys_secret(box_rows, "password"));
    ck_assert(keys_secret(box_rows, "headers.Authorization"));
    ck_assert(keys_secret(box_rows, "peers.token"));
    ck_assert(!keys_secret(box_rows, "peers.host"));
    ck_assert(!keys_secret(box_rows, "remap.a"));
    ck_assert(!keys_secret(box_rows, "target"));
}
END_TEST

static void collect(void *ctx, const char *name, const struct key *key, const char *type)
{
    fprintf(ctx, "%s|%s|%s\n", name, type, key->text);
}

START_TEST(rows_are_walked_for_people)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    keys_visit(box_rows, collect, out);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "count|int, 1 to 100|an int\n"));
    ck_assert_ptr_nonnull(strstr(text, "hold|auto | duration|a duration or auto\n"));
    ck_assert_ptr_nonnull(strstr(text, "mode|gzip | zstd | none|a choice\n"));
    ck_assert_ptr_nonnull(strstr(text, "tls.ca_file|string|a file\n"));
    ck_assert_ptr_nonnull(strstr(text, "grpc|section, off until given|a section with a switch\n"));
    ck_assert_ptr_nonnull(strstr(text, "grpc.limit|int, 1 to 128|how much\n"));
    ck_assert_ptr_nonnull(strstr(text, "\npeers|list of sections|sections\n"));
    ck_assert_ptr_nonnull(strstr(text, "peers[].host|string|which\n"));
    free(text);
}
END_TEST

int main(void)
{
    return suite_run("keys", (const TTest *const[]){
                                 rows_are_found_by_path,
                                 secrets_are_known_by_path,
                                 rows_are_walked_for_people,
                                 NULL,
                             });
}
