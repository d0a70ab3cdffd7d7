#include "extensions/basicauth/password.h"

#include "tests/support/suite.h"

#include <stdio.h>

/* Of "myPassword" unless stated otherwise; from the documentation of Apache's htpasswd, the test
 * values of bcrypt and SHA-crypt, and `openssl passwd`. */
#define BCRYPT "$2y$05$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC"
#define SHA    "{SHA}VBPuJHI7uixaa6LQGWx4s+5GKNE="
#define APR1   "$apr1$r31.....$HqJZimcKQFAMYayBlzkrA/"

static const struct {
    const char *hash, *password;
    enum password_kind kind;
} vectors[] = {
    {BCRYPT, "myPassword", PASSWORD_CRYPT},
    {"$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U", PASSWORD_CRYPT},
    {"$2b$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy", "", PASSWORD_CRYPT},
    {"$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5", "Hello world!", PASSWORD_CRYPT},
    {"$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnI"
     "FNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
     "Hello world!", PASSWORD_CRYPT},
    {SHA, "myPassword", PASSWORD_SHA},
    {"{SSHA}5ravvW12u10gQVQtfS4/rFuwVZMxMjM0", "password", PASSWORD_SHA},
    {APR1, "myPassword", PASSWORD_APR1},
    {"$apr1$abcdefgh$YoZRc15qZGhK2NX/RWmro.", "wonder", PASSWORD_APR1},
    {"plain text", "plain text", PASSWORD_PLAIN},
};

START_TEST(every_kind_takes_its_password_and_no_other)
{
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const char *hash = vectors[i].hash;
        char other[64];
        snprintf(other, sizeof other, "%sx", vectors[i].password);
        ck_assert_msg(password_kind(hash) == vectors[i].kind, "%s", hash);
        bool fits = password_fits(vectors[i].kind, hash, view_of(vectors[i].password));
        ck_assert_msg(fits, "%s", hash);
        ck_assert_msg(!password_fits(vectors[i].kind, hash, view_of(other)), "%s", hash);
        if (*vectors[i].password)
            ck_assert_msg(!password_fits(vectors[i].kind, hash, VIEW("")), "%s", hash);
    }
}
END_TEST

START_TEST(an_empty_password_is_no_pointer_at_all)
{
    const char *hash = "$2b$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy";
    ck_assert(password_fits(PASSWORD_CRYPT, hash, (struct view){0}));
    ck_assert(!password_fits(PASSWORD_APR1, APR1, (struct view){0}));
    ck_assert(!password_fits(PASSWORD_SHA, SHA, (struct view){0}));
    ck_assert(!password_fits(PASSWORD_PLAIN, "x", (struct view){0}));
}
END_TEST

START_TEST(a_password_does_not_end_at_a_nul)
{
    ck_assert(!password_fits(PASSWORD_CRYPT, BCRYPT, VIEW("myPassword\0more")));
    ck_assert(!password_fits(PASSWORD_APR1, APR1, VIEW("myPassword\0more")));
    ck_assert(!password_fits(PASSWORD_PLAIN, "plain", VIEW("plain\0")));
}
END_TEST

START_TEST(long_passwords_are_hashed_whole_by_apr1)
{
    static const char hash[] = "$apr1$longsalt$hvLsFywiw5wQd5dT2Vt8G.";
    char text[100];
    memset(text, 'p', 70);
    text[70] = '\0';
    ck_assert_int_eq(password_kind(hash), PASSWORD_APR1);
    ck_assert(password_fits(PASSWORD_APR1, hash, view_of(text)));
    text[69] = 'q';
    ck_assert(!password_fits(PASSWORD_APR1, hash, view_of(text)));
}
END_TEST

START_TEST(damaged_and_unknown_hashes_are_no_plain_passwords)
{
    static const char *const bad[] = {
        "",
        "$2y$05$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRq",
        "$2x$05$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC",
        "$2y$03$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC",
        "$2y$0x$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC",
        "$2y$05$c4WoMPo3SXsafkva:HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC",
        "$apr1$r31.....$HqJZimcKQFAMYayBlzkrA",
        "$apr1$123456789$HqJZimcKQFAMYayBlzkrA/",
        "$apr1$",
        "$5$",
        "$6$salt",
        "$1$salt$qJH7.N4xYta3aEG/dfqo/0",
        "{SHA}",
        "{SHA}VBPuJHI7uixaa6LQGWx4s+5GKN==",
        "{SSHA}VBPuJHI7uixaa6LQGWx4s+5GKNE=",
        "{MD5}xyz",
        "rqXexS6ZhobKA", /* DES-crypt of "password" */
        "_J9..rasmBYk8r9AiWNc",
        "*",
        "!",
        "!!",
        "*LK*",
        "!$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl",
        "!rqXexS6ZhobKA",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(password_kind(bad[i]) == PASSWORD_UNKNOWN, "%s", bad[i]);
}
END_TEST

START_TEST(short_passwords_are_plain_unless_they_look_like_des_crypt)
{
    static const char *const good[] = {"a",       "rqXexS6ZhobK", "rqXexS6ZhobKAb", "rqXexS6-hobKA",
                                       "!secret", "*star",        "_under"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_msg(password_kind(good[i]) == PASSWORD_PLAIN, "%s", good[i]);
}
END_TEST

SUITE_MAIN("password", short_passwords_are_plain_unless_they_look_like_des_crypt,
           every_kind_takes_its_password_and_no_other, an_empty_password_is_no_pointer_at_all,
           a_password_does_not_end_at_a_nul, long_passwords_are_hashed_whole_by_apr1,
           damaged_and_unknown_hashes_are_no_plain_passwords)
