/* unpickle.c -- reads device capacities from a Python pickle, which is a program for a small stack machine.
 * Only operations that build dictionaries of numbers and text are carried out; any that would make an object
 * or call something is refused, so a file from elsewhere can do no harm. */
#include "base/words.h"
#include "cluster/capacity.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { MARK, NUMBER, TEXT, DICTIONARY };
struct value {
    enum kind kind;
    uint32_t dictionary; /* its number */
    uint32_t length;     /* of the text */
    double number;
    const char *text; /* in the file */
};
struct dictionary {
    double computation, communication; /* NaN: it has none */
};
/* A dictionary inside another one. */
struct entry {
    uint32_t of, value;
    struct value key;
};

struct machine {
    struct mot_capacity_list *list;
    const unsigned char *bytes;
    size_t n, at;
    struct value *stack, *memo;
    size_t depth, stack_room, memos, memo_room;
    struct dictionary *dictionary;
    struct entry *entry;
    size_t dictionaries, dictionary_room, entries, entry_room;
};

/* Makes room for one more in an array that doubles. */
static void *room_for(void *array, size_t used, size_t *room, size_t size)
{
    if (used < *room) return array;
    *room = *room ? 2 * *room : 64;
    return mot_grow(array, *room, size);
}

static enum mot_status broken(const struct machine *m, const char *what)
{
    return mot_fail(MOT_EUSAGE, "%s: byte %zu: the pickle is damaged: %s", m->list->path, m->at, what);
}

static enum mot_status refuse(const struct machine *m, unsigned code)
{
    return mot_fail(MOT_EUSAGE,
        "%s: byte %zu: this pickle holds more than dictionaries of numbers and text (operation 0x%02x), or "
        "is "
        "of protocol 0 or 1; motley runs nothing from a pickle: export it as JSON (motley help cluster "
        "import)",
        m->list->path, m->at - 1, code);
}

/* Limits that plain dictionaries never reach: each byte of a file could cost many times its size. */
#define DEPTH_MOST (1u << 20)

static enum mot_status bounded(const struct machine *m)
{
    if (m->depth <= DEPTH_MOST && m->dictionaries <= MOT_CAPACITIES_MAX + 1u) return MOT_OK;
    return mot_fail(MOT_EDATA, "%s: byte %zu: %s", m->list->path, m->at,
        m->depth > DEPTH_MOST ? "its values are nested too deeply" : "it has too many dictionaries");
}

static void push(struct machine *m, struct value value)
{
    m->stack = room_for(m->stack, m->depth, &m->stack_room, sizeof *m->stack);
    m->stack[m->depth++] = value;
}

/* ---- Operands ----------------------------------------------------------------------------------- */

/* Takes a number of `n` bytes, lowest first; false if there are fewer. */
static bool take(struct machine *m, unsigned n, uint64_t *out)
{
    if (m->n - m->at < n) return false;
    *out = 0;
    for (unsigned i = 0; i < n; i++) *out |= (uint64_t)m->bytes[m->at + i] << (8 * i);
    m->at += n;
    return true;
}

static enum mot_status push_whole(struct machine *m, unsigned bytes, bool is_signed)
{
    uint64_t x = 0;
    if (bytes > 8) return broken(m, "a whole number of more than 8 bytes");
    if (!take(m, bytes, &x)) return broken(m, "it ends within a number");
    double value = (double)x;
    if (is_signed && bytes && x >> (8 * bytes - 1)) value -= ldexp(1, (int)(8 * bytes));
    push(m, (struct value){ .kind = NUMBER, .number = value });
    return MOT_OK;
}

/* A number of eight bytes, highest first. */
static enum mot_status push_real(struct machine *m)
{
    uint64_t x = 0;
    if (m->n - m->at < 8) return broken(m, "it ends within a number");
    for (int i = 0; i < 8; i++) x = x << 8 | m->bytes[m->at++];
    struct value value = { .kind = NUMBER };
    memcpy(&value.number, &x, sizeof x);
    push(m, value);
    return MOT_OK;
}

static enum mot_status push_text(struct machine *m, unsigned length_bytes)
{
    uint64_t n;
    if (!take(m, length_bytes, &n) || n > m->n - m->at || n > UINT32_MAX)
        return broken(m, "it ends within a text");
    const char *text = (const char *)m->bytes + m->at;
    push(m, (struct value){ .kind = TEXT, .length = (uint32_t)n, .text = text });
    m->at += n;
    return MOT_OK;
}

/* ---- Dictionaries ------------------------------------------------------------------------------- */

static void push_dictionary(struct machine *m)
{
    m->dictionary = room_for(m->dictionary, m->dictionaries, &m->dictionary_room, sizeof *m->dictionary);
    m->dictionary[m->dictionaries] = (struct dictionary){ NAN, NAN };
    push(m, (struct value){ .kind = DICTIONARY, .dictionary = (uint32_t)m->dictionaries++ });
}

static bool is(const struct value *v, const char *word)
{
    return v->kind == TEXT && v->length == strlen(word) && memcmp(v->text, word, v->length) == 0;
}

static double figure(const struct value *v)
{
    char text[64];
    double x = NAN;
    if (v->kind == NUMBER) return v->number;
    if (v->kind != TEXT || v->length >= sizeof text) return x;
    memcpy(text, v->text, v->length);
    text[v->length] = '\0';
    mot_read_real(text, &x);
    return x;
}

static void set(struct machine *m, uint32_t of, const struct value *key, const struct value *value)
{
    struct dictionary *d = &m->dictionary[of];
    if (is(key, "computation")) d->computation = figure(value);
    else if (is(key, "communication")) d->communication = figure(value);
    else if (value->kind == DICTIONARY) {
        m->entry = room_for(m->entry, m->entries, &m->entry_room, sizeof *m->entry);
        m->entry[m->entries++] = (struct entry){ of, value->dictionary, *key };
    }
}

/* Moves the pairs from `first` on from the stack into the dictionary below them, and pops a mark between. */
static enum mot_status set_items(struct machine *m, size_t first, size_t below)
{
    if (m->depth < first || (m->depth - first) % 2 || below >= m->depth || m->stack[below].kind != DICTIONARY)
        return broken(m, "items without a dictionary");
    for (size_t i = first; i < m->depth; i++)
        if (m->stack[i].kind == MARK) return broken(m, "a mark among items");
    for (size_t i = first; i < m->depth; i += 2)
        set(m, m->stack[below].dictionary, &m->stack[i], &m->stack[i + 1]);
    m->depth = below + 1;
    return MOT_OK;
}

static enum mot_status set_marked(struct machine *m)
{
    size_t mark = m->depth;
    while (mark > 0 && m->stack[mark - 1].kind != MARK) mark--;
    if (mark < 2) return broken(m, "items without a mark");
    return set_items(m, mark, mark - 2);
}

/* ---- The memo ----------------------------------------------------------------------------------- */

static enum mot_status remember(struct machine *m, uint64_t at)
{
    if (m->depth == 0 || m->stack[m->depth - 1].kind == MARK) return broken(m, "nothing to remember");
    if (at > m->memos + 1) return broken(m, "what it remembers is out of order");
    while (m->memos <= at) { /* Python 2 counts from 1, so the first stays empty */
        m->memo = room_for(m->memo, m->memos, &m->memo_room, sizeof *m->memo);
        m->memo[m->memos++] = (struct value){ .kind = MARK };
    }
    m->memo[at] = m->stack[m->depth - 1];
    return MOT_OK;
}

static enum mot_status recall(struct machine *m, unsigned bytes)
{
    uint64_t at;
    if (!take(m, bytes, &at) || at >= m->memos || m->memo[at].kind == MARK)
        return broken(m, "it recalls what it did not remember");
    push(m, m->memo[at]);
    return MOT_OK;
}

static enum mot_status remember_at(struct machine *m, unsigned bytes)
{
    uint64_t at;
    return take(m, bytes, &at) ? remember(m, at) : broken(m, "it ends within a number");
}

/* ---- Running it --------------------------------------------------------------------------------- */

static enum mot_status skip(struct machine *m, unsigned bytes)
{
    uint64_t ignored;
    return take(m, bytes, &ignored) ? MOT_OK : broken(m, "it ends too soon");
}

static enum mot_status push_long(struct machine *m)
{
    uint64_t bytes;
    if (!take(m, 1, &bytes)) return broken(m, "it ends within a number");
    return push_whole(m, (unsigned)bytes, true);
}

/* Operations are named as in Python's pickletools. */
static enum mot_status operate(struct machine *m, unsigned code)
{
    switch (code) {
    case 0x80: return skip(m, 1);                /* PROTO */
    case 0x95: return skip(m, 8);                /* FRAME */
    case '}': push_dictionary(m); return MOT_OK; /* EMPTY_DICT */
    case '(': push(m, (struct value){ .kind = MARK }); return MOT_OK;
    case 'u': return set_marked(m); /* SETITEMS */
    case 's':
        return m->depth < 3 ? broken(m, "an item without a dictionary")
                            : set_items(m, m->depth - 2, m->depth - 3);
    case 'K': return push_whole(m, 1, false); /* BININT1 */
    case 'M': return push_whole(m, 2, false); /* BININT2 */
    case 'J': return push_whole(m, 4, true);  /* BININT */
    case 0x8a: return push_long(m);           /* LONG1 */
    case 'G': return push_real(m);            /* BINFLOAT */
    case 'X': return push_text(m, 4);         /* BINUNICODE */
    case 0x8c: return push_text(m, 1);        /* SHORT_BINUNICODE */
    case 'U': return push_text(m, 1);         /* SHORT_BINSTRING, of Python 2 */
    case 'q': return remember_at(m, 1);       /* BINPUT */
    case 'r': return remember_at(m, 4);       /* LONG_BINPUT */
    case 0x94: return remember(m, m->memos);  /* MEMOIZE */
    case 'h': return recall(m, 1);            /* BINGET */
    case 'j': return recall(m, 4);            /* LONG_BINGET */
    default: return refuse(m, code);
    }
}

static enum mot_status add_clients(struct machine *m)
{
    if (m->depth != 1 || m->stack[0].kind != DICTIONARY) return broken(m, "it is not a dictionary");
    enum mot_status status = MOT_OK;
    for (size_t i = 0; i < m->entries && status == MOT_OK; i++) {
        const struct entry *e = &m->entry[i];
        if (e->of != m->stack[0].dictionary) continue;
        char name[80];
        if (e->key.kind == TEXT)
            snprintf(name, sizeof name, "%.*s", e->key.length < 79 ? (int)e->key.length : 79, e->key.text);
        else snprintf(name, sizeof name, "%.15g", e->key.number);
        const struct dictionary *d = &m->dictionary[e->value];
        status = mot_capacity_add(m->list, name, d->computation, d->communication);
    }
    return status;
}

enum mot_status mot_capacities_unpickle(struct mot_capacity_list *list, const unsigned char *bytes, size_t n)
{
    struct machine m = { .list = list, .bytes = bytes, .n = n };
    enum mot_status status = MOT_OK;
    bool ended = false;
    while (status == MOT_OK && !ended) {
        if (m.at == n) {
            status = broken(&m, "it ends too soon");
            break;
        }
        unsigned code = bytes[m.at++];
        ended = code == '.';
        if (!ended) status = operate(&m, code);
        if (status == MOT_OK) status = bounded(&m);
    }
    if (status == MOT_OK) status = add_clients(&m);
    free(m.stack);
    free(m.memo);
    free(m.dictionary);
    free(m.entry);
    return status;
}
