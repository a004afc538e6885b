/* Data sets of pictures: CIFAR's binary files and NumPy's archives. */
#include "help.h"

#define PIXELS 3072

/* ---- CIFAR ---------------------------------------------------------------------------------------- */

static size_t cifar(unsigned char *to, uint32_t pictures, int labels, int first)
{
    size_t n = 0;
    for (uint32_t p = 0; p < pictures; p++) {
        for (int l = 0; l < labels; l++) to[n++] = (unsigned char)(l + 1 == labels ? first + (int)p : 77);
        for (int i = 0; i < PIXELS; i++) to[n++] = (unsigned char)(i / 1024 + 3 * (int)p);
    }
    return n;
}

TEST(cifar_pictures_have_labels_and_three_planes)
{
    static unsigned char file[3 * (2 + PIXELS)];
    for (int hundred = 0; hundred < 2; hundred++) {
        size_t n = cifar(file, 3, 1 + hundred, hundred ? 97 : 5);
        struct mot_raw raw;
        MUST(read_bytes(hundred ? MOT_FORMAT_CIFAR100 : MOT_FORMAT_CIFAR10, file, n, NULL, 0, NULL, &raw));
        CHECK_INT(raw.rows, 3);
        CHECK_INT(raw.cols, PIXELS);
        CHECK(raw.picture && raw.labelled);
        CHECK_INT(raw.geometry.channels, 3);
        CHECK_INT(raw.geometry.height, 32);
        CHECK_INT(raw.geometry.width, 32);
        CHECK_TEXT(label_of(&raw, 2), hundred ? "99" : "7");
        for (int c = 0; c < 3; c++) CHECK_INT(raw.x[2 * PIXELS + 1024 * c + 1023], 6 + c);
        mot_raw_free(&raw);
    }
}

TEST(cifar_files_that_are_not_whole_or_not_cifar_are_refused)
{
    static unsigned char file[2 * (1 + PIXELS)];
    struct mot_raw raw;
    size_t n = cifar(file, 2, 1, 0);
    CHECK_INT(read_bytes(MOT_FORMAT_CIFAR10, file, n - 1, NULL, 0, NULL, &raw), MOT_EDATA);
    CHECK_HAS(mot_error(), "file: offset 6145: the file ends inside picture 1, expected 3073 bytes");
    file[1 + PIXELS] = 10;
    CHECK_INT(read_bytes(MOT_FORMAT_CIFAR10, file, n, NULL, 0, NULL, &raw), MOT_EDATA);
    CHECK_HAS(mot_error(), "file: offset 3073: label 10, expected 0 to 9");
    struct mot_read_conf one = mot_read_preset();
    one.rows = 1;
    MUST(read_bytes(MOT_FORMAT_CIFAR10, file, n, NULL, 0, &one, &raw));
    CHECK_INT(raw.rows, 1);
    mot_raw_free(&raw);
}

TEST(the_subset_of_cifar_10_is_balanced_and_found_by_its_name)
{
    char paths[2][512];
    const char *train = shared_file("cifar10-subset/cifar10_train_10000.bin.gz", paths[0], sizeof paths[0]),
               *test = shared_file("cifar10-subset/cifar10_test_2000.bin.gz", paths[1], sizeof paths[1]);
    if (!train || !test) SKIP(NOT_SHARED);
    struct mot_arena arena = { 0 };
    struct mot_data_conf conf = { 0 };
    MUST(mot_options_preset(mot_data_options, &conf, &arena));
    conf.path = train, conf.test_path = test;
    struct mot_dataset *set;
    MUST(mot_dataset_open(&conf, 1, &set));
    CHECK_INT(set->train.rows, 10000);
    CHECK_INT(set->test.rows, 2000);
    CHECK_INT(set->train.classes, 10);
    CHECK_INT(set->picture.channels, 3);
    uint32_t of_class[10] = { 0 };
    for (uint32_t i = 0; i < 10000; i++) of_class[(int)set->train.y[i]]++;
    for (int c = 0; c < 10; c++) CHECK_INT(of_class[c], 1000);
    float least = 1, most = 0;
    for (size_t i = 0; i < (size_t)1000 * PIXELS; i++) {
        if (set->train.x[i] < least) least = set->train.x[i];
        if (set->train.x[i] > most) most = set->train.x[i];
    }
    CHECK(least == 0 && most == 1); /* bytes become 0 to 1, as in PyTorch */
    mot_dataset_close(set);
    mot_arena_free(&arena);
}

/* ---- NPZ ------------------------------------------------------------------------------------------- */

static size_t put(unsigned char *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (unsigned char)(value >> 8 * i);
    return (size_t)bytes;
}

struct zip {
    unsigned char file[8192], directory[1024];
    size_t n, directory_n;
    uint32_t members;
};

static void add(struct zip *z, const char *name, const void *bytes, size_t size, bool deflated)
{
    static unsigned char packed[4096];
    size_t n = size, local = z->n, length = strlen(name);
    memcpy(packed, bytes, size);
    if (deflated) {
        z_stream s = { .next_in = (unsigned char *)(uintptr_t)bytes,
            .avail_in = (uInt)size,
            .next_out = packed,
            .avail_out = sizeof packed };
        if (deflateInit2(&s, 9, Z_DEFLATED, -15, 8, 0) != Z_OK || deflate(&s, Z_FINISH) != Z_STREAM_END)
            abort();
        n = s.total_out;
        deflateEnd(&s);
    }
    uint32_t crc = (uint32_t)crc32(0, bytes, (uInt)size);
    unsigned char common[26];
    size_t c = put(common, 20, 2); /* version, flags, method, time and date, crc, sizes, lengths */
    c += put(common + c, 0, 2), c += put(common + c, deflated ? 8 : 0, 2), c += put(common + c, 0, 4);
    c += put(common + c, crc, 4), c += put(common + c, n, 4), c += put(common + c, size, 4);
    c += put(common + c, length, 2), c += put(common + c, 0, 2);
    memcpy(z->file + z->n, "PK\3\4", 4), z->n += 4;
    memcpy(z->file + z->n, common, 26), z->n += 26;
    memcpy(z->file + z->n, name, length), z->n += length;
    memcpy(z->file + z->n, packed, n), z->n += n;
    unsigned char *d = z->directory + z->directory_n;
    memcpy(d, "PK\1\2", 4), put(d + 4, 20, 2), memcpy(d + 6, common, 26);
    memset(d + 32, 0, 10), put(d + 32, 3, 2), put(d + 42, local, 4);
    memcpy(d + 46, name, length), memcpy(d + 46 + length, "why", 3); /* its comment */
    z->directory_n += 46 + length + 3;
    z->members++;
}

static void finish(struct zip *z)
{
    size_t at = z->n;
    memcpy(z->file + z->n, z->directory, z->directory_n), z->n += z->directory_n;
    unsigned char *e = z->file + z->n;
    memcpy(e, "PK\5\6\0\0\0\0", 8);
    put(e + 8, z->members, 2), put(e + 10, z->members, 2), put(e + 12, z->directory_n, 4);
    put(e + 16, at, 4), put(e + 20, 0, 2);
    z->n += 22;
}

static size_t npy(unsigned char *to, const char *type, const char *shape, const void *bytes, size_t n)
{
    char header[118 + 1];
    int used = snprintf(
        header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
    memset(header + used, ' ', sizeof header - (size_t)used);
    memcpy(to, "\x93NUMPY\1\0", 8);
    put(to + 8, 118, 2);
    memcpy(to + 10, header, 118);
    to[127] = '\n';
    memcpy(to + 128, bytes, n);
    return 128 + n;
}

/* Two pictures of 5 x 6 pixels with channels last, as Keras saves them, and their labels; then others, of
 * one picture, for testing. */
static void make(struct zip *z, bool deflated)
{
    unsigned char pixels[2 * 90], file[512];
    *z = (struct zip){ 0 };
    for (int i = 0; i < 180; i++) pixels[i] = (unsigned char)(i % 90 / 3 + 30 * (i % 3) + 90 * (i / 90));
    add(z, "x_train.npy", file, npy(file, "|u1", "(2, 5, 6, 3)", pixels, 180), deflated);
    add(z, "y_train.npy", file, npy(file, "|u1", "(2, 1)", "\4\7", 2), deflated);
    add(z, "x_test.npy", file, npy(file, "|u1", "(1, 5, 6, 3)", pixels, 90), deflated);
    add(z, "y_test.npy", file, npy(file, "|u1", "(1, 1)", "\7", 1), deflated);
    finish(z);
}

TEST(an_archive_has_features_and_labels_stored_or_deflated)
{
    static struct zip z;
    for (int deflated = 0; deflated < 2; deflated++) {
        struct mot_raw raw;
        make(&z, deflated);
        MUST(read_bytes(MOT_FORMAT_AUTO, z.file, z.n, NULL, 0, NULL, &raw));
        CHECK_INT(raw.rows, 2);
        CHECK_INT(raw.geometry.channels, 3);
        CHECK_INT(raw.geometry.height, 5);
        CHECK_INT(raw.geometry.width, 6);
        for (int i = 0; i < 180; i++) CHECK_INT(raw.x[i], i); /* a plane after the other */
        CHECK_TEXT(label_of(&raw, 0), "4");
        CHECK_TEXT(label_of(&raw, 1), "7");
        mot_raw_free(&raw);
        struct mot_read_conf test = mot_read_preset();
        test.test = true;
        MUST(read_bytes(MOT_FORMAT_NPZ, z.file, z.n, NULL, 0, &test, &raw));
        CHECK_INT(raw.rows, 1);
        CHECK_TEXT(label_of(&raw, 0), "7");
        mot_raw_free(&raw);
    }
}

TEST(archives_that_are_damaged_say_where)
{
    static struct zip z;
    struct mot_raw raw;
    make(&z, false);
    CHECK_INT(read_bytes(MOT_FORMAT_NPZ, z.file, z.n - 23, NULL, 0, NULL, &raw), MOT_EDATA);
    CHECK_HAS(mot_error(), "no zip directory at the end, expected one: truncated, or not NPZ");
    z.file[200] ^= 1; /* a pixel */
    CHECK_INT(read_bytes(MOT_FORMAT_NPZ, z.file, z.n, NULL, 0, NULL, &raw), MOT_EDATA);
    CHECK_HAS(mot_error(), "x_train does not match the checksum of its entry: damaged");
    make(&z, true);
    z.file[60] ^= 0xff;
    CHECK_INT(read_bytes(MOT_FORMAT_NPZ, z.file, z.n, NULL, 0, NULL, &raw), MOT_EDATA);
    CHECK_HAS(mot_error(), "x_train");
    struct mot_read_conf small = mot_read_preset();
    small.unpack_max = 100;
    make(&z, true);
    CHECK_INT(read_bytes(MOT_FORMAT_NPZ, z.file, z.n, NULL, 0, &small, &raw), MOT_EDATA);
    CHECK_HAS(mot_error(), "raise data.unpack_max");
    z = (struct zip){ 0 };
    add(&z, "something.npy", "x", 1, false);
    finish(&z);
    CHECK_INT(read_bytes(MOT_FORMAT_NPZ, z.file, z.n, NULL, 0, NULL, &raw), MOT_EDATA);
    CHECK_HAS(mot_error(), "no arrays that could be features and labels, expected x_train and y_train");
}

/* Any byte may be wrong, and the file may end anywhere: an error, never a crash. */
TEST(no_damage_to_an_archive_does_harm)
{
    static struct zip z;
    unsigned refused = 0;
    for (int deflated = 0; deflated < 2; deflated++) {
        make(&z, deflated);
        for (size_t i = 0; i < z.n; i++) {
            struct mot_raw raw;
            unsigned char was = z.file[i];
            z.file[i] ^= (unsigned char)(1u << i % 8);
            if (read_bytes(MOT_FORMAT_NPZ, z.file, z.n, NULL, 0, NULL, &raw) == MOT_OK) mot_raw_free(&raw);
            else refused++;
            z.file[i] = was;
            if (read_bytes(MOT_FORMAT_NPZ, z.file, i, NULL, 0, NULL, &raw) == MOT_OK) mot_raw_free(&raw);
        }
    }
    CHECK(refused > 500);
}

TEST_MAIN()
