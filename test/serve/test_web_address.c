/* Where the live view may listen, and whom it answers. */
#include "serve/address.h"
#include "test.h"

static bool reads(const char *text, bool anyone, const char *shown)
{
    struct mot_web_address a;
    char url[80];
    return mot_web_address_read(text, anyone, &a) == MOT_OK &&
        strcmp(mot_web_address_show(&a, url, sizeof url), shown) == 0;
}

static bool refuses(const char *text, bool anyone, const char *why)
{
    struct mot_web_address a;
    return mot_web_address_read(text, anyone, &a) == MOT_EUSAGE && strstr(mot_error(), why);
}

static bool admits(const char *address, const char *host)
{
    struct mot_web_address a;
    return mot_web_address_read(address, true, &a) == MOT_OK && mot_web_address_admits(&a, host);
}

TEST(an_address_is_numbers_or_localhost)
{
    CHECK(reads("127.0.0.1:8080", false, "http://127.0.0.1:8080/"));
    CHECK(reads("127.9.9.9:0", false, "http://127.9.9.9:0/"));
    CHECK(reads("localhost:65535", false, "http://127.0.0.1:65535/"));
    CHECK(reads("[::1]:80", false, "http://[::1]:80/"));
    static const char *const wrong[] = { "", ":", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
        "127.0.0.1:-1", "127.0.0.1:8x", "127.0.0.1:000080", "127.1:80", "::1:80", "[::1]", "[::1]x:80",
        "[127.0.0.1]:80", "[:80", "example.org:80", "127.0.0.1:80:80", "[]:80",
        "[1111111111111111111111111111111111111111111111111111111111111111111]:1" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (!refuses(wrong[i], true, "expected an address and a port")) FAIL("'%s' is taken", wrong[i]);
}

TEST(what_others_can_reach_must_be_asked_for)
{
    CHECK(refuses("0.0.0.0:80", false, "--serve-anyone"));
    CHECK(refuses("192.0.2.1:80", false, "--serve-anyone"));
    CHECK(refuses("[::]:80", false, "--serve-anyone"));
    CHECK(refuses("[::ffff:127.0.0.1]:80", false, "--serve-anyone"));
    CHECK(reads("0.0.0.0:80", true, "http://0.0.0.0:80/"));
    CHECK(reads("[2001:db8::1]:80", true, "http://[2001:db8::1]:80/"));
}

TEST(on_loopback_only_names_of_this_machine_are_answered)
{
    static const char *const good[] = { "127.0.0.1", "127.0.0.1:80", "localhost", "LocalHost:9000",
        "[::1]:80", "127.0.0.2:1" };
    static const char *const wrong[] = { "", "evil.example", "evil.example:80", "127.0.0.1.evil.example",
        "localhost.evil.example", "localhost:", "localhost:80x", "127.0.0.1:99999", "[::1", "[::2]:80",
        "10.0.0.1:80", "::1", "127.0.0.1 evil" };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!admits("127.0.0.1:80", good[i]) || !admits("[::1]:80", good[i]))
            FAIL("'%s' is refused", good[i]);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (admits("127.0.0.1:80", wrong[i])) FAIL("'%s' is answered", wrong[i]);
    CHECK(admits("192.0.2.1:80", "node7.cluster")); /* which names lead there, nobody here knows */
}

TEST_MAIN()
