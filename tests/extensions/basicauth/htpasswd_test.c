#include "extensions/basicauth/htpasswd.h"

#include "tests/support/suite.h"

#include <stdlib.h>

#define SHA "{SHA}VBPuJHI7uixaa6LQGWx4s+5GKNE="

static struct htpasswd htpasswd;
static char why[256];

static bool reads(const char *text)
{
    htpasswd_release(&htpasswd);
    return htpasswd_read(&htpasswd, view_of(text), why, sizeof why);
}

static const char *hash_of(const char *name)
{
    const struct htpasswd_user *user = htpasswd_find(&htpasswd, view_of(name));
    return user ? user->hash : NULL;
}

START_TEST(users_are_found_by_their_whole_name)
{
    ck_assert(reads("# comment\n\n  bob:" SHA "\r\nann:x:y \n\nbobby:z"));
    ck_assert_uint_eq(htpasswd.count, 3);
    ck_assert_str_eq(hash_of("bob"), SHA);
    ck_assert_str_eq(hash_of("ann"), "x:y");
    ck_assert_str_eq(hash_of("bobby"), "z");
    ck_assert_ptr_null(hash_of("bo"));
    ck_assert_ptr_null(hash_of(""));
    ck_assert_ptr_null(htpasswd.slow);
    htpasswd_release(&htpasswd);
    htpasswd_release(&htpasswd);
}
END_TEST

START_TEST(the_last_line_of_a_user_holds)
{
    ck_assert(reads("a:1\nb:2\na:3\na:4\nb:5\n"));
    ck_assert_uint_eq(htpasswd.count, 2);
    ck_assert_str_eq(hash_of("a"), "4");
    ck_assert_str_eq(hash_of("b"), "5");
    htpasswd_release(&htpasswd);
}
END_TEST

START_TEST(one_slow_user_is_known)
{
    ck_assert(reads("a:1\nb:$apr1$r31.....$HqJZimcKQFAMYayBlzkrA/\n"));
    ck_assert_ptr_nonnull(htpasswd.slow);
    ck_assert_int_eq(htpasswd.slow->kind, PASSWORD_APR1);
    htpasswd_release(&htpasswd);
}
END_TEST

START_TEST(a_fault_names_its_line_and_nothing_secret)
{
    ck_assert(!reads("a:1\nsesame\n"));
    ck_assert_ptr_nonnull(strstr(why, "line 2 has no colon"));
    ck_assert_ptr_null(strstr(why, "sesame"));
    ck_assert(!reads("a:1\n\nuser:$9$sesame\n"));
    ck_assert_ptr_nonnull(strstr(why, "line 3 has a hash"));
    ck_assert_ptr_null(strstr(why, "sesame"));
    ck_assert(!reads(":1\n"));
    ck_assert_ptr_nonnull(strstr(why, "line 1 has no user name"));
    ck_assert(!reads("a:\n"));
    ck_assert(!reads(""));
    ck_assert_ptr_nonnull(strstr(why, "no user"));
    ck_assert(!htpasswd_read(&htpasswd, VIEW("a:1\0b:2"), why, sizeof why));
}
END_TEST

START_TEST(a_mark_of_utf_8_is_no_part_of_a_name)
{
    ck_assert(reads("\xef\xbb\xbf"
                    "first:1\nsecond:2\n"));
    ck_assert_str_eq(hash_of("first"), "1");
    ck_assert_str_eq(hash_of("second"), "2");
    htpasswd_release(&htpasswd);
}
END_TEST

START_TEST(what_is_wrong_with_a_hash_is_told)
{
    static const struct {
        const char *line, *why;
    } rows[] = {
        {"u:", "line 1 has no password, expected bcrypt"},
        {"u:*", "line 1 locks its user out (* or !): remove the line instead"},
        {"u:!$6$a$b", "line 1 locks its user out"},
        {"u:rqXexS6ZhobKA", "line 1 has a DES-crypt hash, which is too weak, expected"},
        {"u:$apr1$x", "line 1 has a damaged or truncated hash, expected"},
        {"u:$2y$10$abc", "line 1 has a damaged or truncated hash, expected"},
        {"u:$argon2id$v=19$m=1", "line 1 has a hash of an unknown kind, expected"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert(!reads(rows[i].line));
        ck_assert_msg(strstr(why, rows[i].why) == why, "%s", why);
    }
}
END_TEST

static bool credentials(const char *value, const char *user, const char *password)
{
    struct bytes text;
    struct view a, b;
    bool good = basic_credentials(value, &text, &a, &b);
    if (good) {
        ck_assert(view_eq(a, view_of(user)));
        ck_assert(view_eq(b, view_of(password)));
    }
    bytes_release(&text);
    return good;
}

START_TEST(credentials_are_read_from_the_header)
{
    /* RFC 7617, section 2 */
    ck_assert(credentials("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame"));
    ck_assert(credentials("basic  QWxhZGRpbjpvcGVuIHNlc2FtZQ ", "Aladdin", "open sesame"));
    ck_assert(credentials("BASIC YTpiOmM=", "a", "b:c"));
    ck_assert(credentials("Basic Og==", "", ""));
    ck_assert(!credentials(NULL, "", ""));
    ck_assert(!credentials("", "", ""));
    ck_assert(!credentials("Basic", "", ""));
    ck_assert(!credentials("Basic ", "", ""));
    ck_assert(!credentials("Basic YWI=", "", ""));
    ck_assert(!credentials("Basic !!!!", "", ""));
    ck_assert(!credentials("Bearer YTpi", "", ""));
    ck_assert(!credentials("BasicYTpi", "", ""));
}
END_TEST

START_TEST(credentials_past_any_sense_are_none)
{
    char *value = malloc(60000 + 8);
    memcpy(value, "Basic ", 6);
    memset(value + 6, 'O', 60000);
    value[60006] = '\0';
    ck_assert(!credentials(value, "", ""));
    free(value);
}
END_TEST

SUITE_MAIN("htpasswd", users_are_found_by_their_whole_name, the_last_line_of_a_user_holds,
           one_slow_user_is_known, a_fault_names_its_line_and_nothing_secret,
           a_mark_of_utf_8_is_no_part_of_a_name, what_is_wrong_with_a_hash_is_told,
           credentials_are_read_from_the_header, credentials_past_any_sense_are_none)
