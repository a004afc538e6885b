/* code.h -- gradient codes: who computes which parts with which coefficients, and how to recover the sum of
 * all parts' gradients from the workers that answered.
 *
 * A code is a matrix B. The worker with role r computes c[r] = sum over j of B[r,j] g[j], where g[j] is the
 * gradient of part j, and a decoder finds weights a with sum over r of a[r] c[r] = sum over j of g[j], as
 * nearly as the missing answers allow. Nothing here trains anything.
 *
 * Coefficients are applied to gradients as floats. B is therefore rounded first, and the weights are
 * those of the rounded B, solved and given in double: where they are large, floats would lose what
 * coding gains. */
#ifndef MOTLEY_CODE_H
#define MOTLEY_CODE_H

#include <motley/option.h>
#include <motley/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOT_CODE_DENSE 512u   /* `optimal` uses QR up to this many workers and parts, above it LSQR */
#define MOT_CODE_MOST 100000u /* workers, and parts */
#define MOT_NO_ROLE UINT32_MAX

enum mot_decoder_kind {
    MOT_DECODER_AUTO,       /* in a specification: what suits the code */
    MOT_DECODER_ANY_HOLDER, /* a part is taken from the first of its holders that answered */
    MOT_DECODER_ONE_STEP,   /* all answers have the same weight */
    MOT_DECODER_OPTIMAL,    /* least squares */
    MOT_DECODER_COMPONENT,  /* least squares in linear time, for `graph` */
};

struct mot_share {
    uint32_t part;
    float coef;
};

/* Constant once made. */
struct mot_code {
    const char *name;
    uint32_t workers, parts;
    /* [workers + 1]: role r's shares are share[at[r]] .. share[at[r + 1] - 1], at least one */
    const uint32_t *at;
    const struct mot_share *share; /* parts in increasing order */
    const double *exact;           /* the coefficients before they were rounded, in the same order */
    const uint32_t *held;   /* [parts + 1]: part j's holders are holder[held[j]] .. holder[held[j + 1] - 1] */
    const uint32_t *holder; /* roles in increasing order; a random code may have parts that nobody holds */
    uint32_t stragglers;    /* the sum is exact whichever this many answers are missing */
    bool approximate;       /* promises an exact sum only if all answer; made for inexact ones */
    uint32_t load_most;     /* parts of the largest role */
    /* Sequential: a task that cannot be decoded may be finished up to this many rounds later, and a straggler
     * takes `slack` times longer than the fastest worker; 0: every task ends with its round. */
    uint32_t burst;
    double slack;
    uint32_t decoder; /* enum mot_decoder_kind, not AUTO */
    /* The decoder takes each part's gradient by itself (all coefficients are 1), not their sum: see
     * mot_code_holder. */
    bool partials;
    /* Sets of roles that decode on their own, with weight 1: group_of[r] is r's, or MOT_NO_ROLE. In `frc` a
     * member of every group is needed (replicas), in `hetero-groups` all members of any group. */
    uint32_t groups;
    bool replicas;
    const uint32_t *group_of; /* [workers], NULL if there are no groups */
    uint32_t leap;            /* roles by which rotate-group moves: workers of a group in `frc` */
    double row_sum;           /* mean sum of a row of B, as the code was designed: for one-step weights */
    double amplifies;    /* largest |a| times largest |B| over the patterns looked at; 0: not looked at */
    const char *warning; /* a sentence for whoever uses it; NULL: none */
};

/* What to build. A code ignores the fields it does not use; 0 stands for its default. */
struct mot_code_spec {
    const char *name;
    uint32_t workers;
    uint64_t stragglers;
    uint64_t load;   /* parts per worker, on average */
    uint64_t degree; /* graph: holders of a part */
    uint64_t parts;
    uint32_t decoder;
    const char *speeds;               /* "1, 2, 4": one per worker; overrides `speed` */
    const double *speed;              /* [workers]: samples per second, in any unit; NULL: all alike */
    uint64_t burst, window, distinct; /* sr-sgc: see code/sequential.c */
    double slack;
    uint64_t seed;
};

/* MOT_EUSAGE: there is no code of that name, or none with these values. */
MOT_API enum mot_status mot_code_open(const struct mot_code_spec *, struct mot_code **out);
MOT_API void mot_code_close(struct mot_code *);          /* NULL is fine */
MOT_API uint64_t mot_code_hash(const struct mot_code *); /* all that a run depends on, as a number */

/* ---- Decoding ---------------------------------------------------------------------------- */

/* Sets of roles are bits: role r is bit r % 64 of word r / 64. */
#define MOT_ROLE_WORDS(workers) (((size_t)(workers) + 63) / 64)
static inline bool mot_role_in(const uint64_t *set, uint32_t role) { return set[role / 64] >> role % 64 & 1; }
static inline void mot_role_add(uint64_t *set, uint32_t role) { set[role / 64] |= UINT64_C(1) << role % 64; }

struct mot_decoded {
    double error;  /* |B'a - 1|^2: over the parts, the sum of (recovered weight - 1) squared */
    double weight; /* the largest |a| */
};

/* A decoder is plain bytes without pointers in the caller's memory, 8-aligned: a method keeps it in its
 * state. It allocates nothing and remembers the weights of the 64 sets used last. */
struct mot_decoder;
MOT_API size_t mot_decoder_bytes(const struct mot_code *);
MOT_API void mot_decoder_init(struct mot_decoder *, const struct mot_code *);
/* Whether these answers give the exact sum. Cheap enough to ask after every answer of a round. Codes that
 * promise nothing if answers are missing say yes only once all have answered, when nothing better can
 * come. */
MOT_API bool mot_decoder_exact(struct mot_decoder *, const struct mot_code *, const uint64_t *answered);
/* The weights by role (0 where there is no answer), valid until the next call. At least one has
 * answered. */
MOT_API const double *mot_decode(
    struct mot_decoder *, const struct mot_code *, const uint64_t *answered, struct mot_decoded *out);
/* Which of these roles serves a part: the lowest that holds it; MOT_NO_ROLE: none does. */
MOT_API uint32_t mot_code_holder(const struct mot_code *, const uint64_t *answered, uint32_t part);

/* ---- Shuffles ----------------------------------------------------------------------------- */

enum mot_shuffle_kind {
    MOT_SHUFFLE_NONE,
    MOT_SHUFFLE_ROTATE_WORKER, /* every worker takes the next role */
    MOT_SHUFFLE_ROTATE_GROUP,  /* the next group's: roles move by code->leap */
    MOT_SHUFFLE_RANDOM,        /* a fresh permutation */
    MOT_SHUFFLE_PARTIAL,       /* `fraction` of the workers exchange roles in pairs, the rest keep theirs */
};
#define MOT_SHUFFLES "none|rotate-worker|rotate-group|random|partial" /* as an option's choices */
MOT_API const char *mot_shuffle_name(uint32_t kind);

struct mot_shuffle {
    uint32_t kind;
    double fraction;
    uint64_t seed;
};

/* The role of a worker after shuffle `number`. Every number gives a permutation; with number 0, the start,
 * worker i has role i. */
MOT_API uint32_t mot_shuffle_role(
    const struct mot_shuffle *, const struct mot_code *, uint64_t number, uint32_t worker);
/* The worker that then has a role. */
MOT_API uint32_t mot_shuffle_holder(
    const struct mot_shuffle *, const struct mot_code *, uint64_t number, uint32_t role);
/* How much data shuffle `number` (1 or more) moves, in copies of the data set, if all parts are equal in
 * size: a worker receives the rows of each new part that it does not hold. */
MOT_API double mot_shuffle_traffic(const struct mot_shuffle *, const struct mot_code *, uint64_t number);

/* ---- Predictions -------------------------------------------------------------------------- */

/* coverage[j]: the share of rounds in which a holder of part j answers, if worker i independently fails to
 * answer with probability straggles[i] and roles are shuffled after every round. The mean over shuffles 0 ..
 * shuffles - 1, which is exact for rotations if `shuffles` is a multiple of the number of workers; if they
 * are fewer than a full turn, they are spread over it. */
MOT_API void mot_code_coverage(const struct mot_code *, const struct mot_shuffle *, const double *straggles,
    uint64_t shuffles, double *coverage);

/* The share of rounds in which an exact code cannot recover the sum unless a straggler answers: the mean over
 * the same shuffles, or over rounds drawn at random. NaN: the code promises no exact sum in every round. */
MOT_API double mot_code_waits(
    const struct mot_code *, const struct mot_shuffle *, const double *straggles, uint64_t shuffles);

/* What a kind of shuffling would bring in the long run. */
struct mot_forecast {
    double least, mean, most; /* coverage: of the worst part, on average, of the best part */
    double waits;             /* see mot_code_waits */
    double traffic;           /* copies of the data set per shuffle */
};
MOT_API struct mot_forecast mot_shuffle_forecast(
    const struct mot_code *, const struct mot_shuffle *, const double *straggles);
/* The best kind: if rounds last until the sum is exact, the one in which the fewest wait for a straggler,
 * else the one that covers the least covered part best. Among those within half a percent, the one that moves
 * least. Shuffling hurts where slow workers share no parts to begin with. out: for every kind but partial. */
MOT_API enum mot_shuffle_kind mot_shuffle_advise(const struct mot_code *, const double *straggles,
    uint64_t seed, bool exact, struct mot_forecast out[MOT_SHUFFLE_PARTIAL]);

/* Two kinds of workers: each is slow for good with probability `slow`. It fails to answer in a round with
 * probability `slow_straggles` if slow, else `straggles`. A part has `holders` holders. */
struct mot_straggling {
    double slow, slow_straggles, straggles;
    uint32_t holders;
};
/* How many of `rounds` rounds miss a part: the mean, and the variance without shuffling and with a random
 * shuffle in every round (Johri, Yardi, Bodas, Approximate Gradient Coding for Heterogeneous Nodes, 2021). */
struct mot_missed {
    double mean, variance, variance_shuffled;
};
MOT_API struct mot_missed mot_missed_moments(const struct mot_straggling *, uint64_t rounds);
/* The probability of exactly m missed rounds. */
MOT_API double mot_missed_chance(const struct mot_straggling *, uint64_t rounds, uint64_t m, bool shuffled);

/* What a code is worth when `stragglers` of its workers are missing. */
struct mot_code_quality {
    double load_mean;                              /* parts per worker */
    double random_error, random_most;              /* of random patterns: the mean error, the largest */
    double worst_error;                            /* of the worst pattern found */
    double weight;                                 /* largest |a| seen */
    uint64_t patterns;                             /* looked at */
    bool all;                                      /* that was every pattern: random and worst are exact */
    uint64_t worst[MOT_ROLE_WORDS(MOT_CODE_MOST)]; /* the workers missing from it */
};
/* Looks at all patterns if there are at most `patterns`; else at that many random ones, and searches for a
 * bad one. */
MOT_API enum mot_status mot_code_measure(const struct mot_code *, uint32_t stragglers, uint64_t patterns,
    uint64_t seed, struct mot_code_quality *out);

#ifdef __cplusplus
}
#endif
#endif
