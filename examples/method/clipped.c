/* method.c -- a method from outside: asynchronous SGD by a rule for the hub, with gradients clipped to a norm
 * and, now and then, a worker that rests for one answer. */
#include <motley/hub.h>
#include <motley/random.h>
#include <motley/vector.h>

struct conf {
    struct mot_hub_conf hub;
    double clip, rests;
};

static const struct mot_option options[] = {
    { .name = "clip",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct conf, clip),
        .preset = "1e30",
        .min = 1e-9,
        .max = 1e30,
        .doc = "the longest a mean gradient may be" },
    { .name = "rests",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct conf, rests),
        .preset = "0",
        .min = 0,
        .max = 0.9,
        .doc = "the chance that a gradient is thrown away" },
    MOT_HUB_OPTIONS,
    { .name = NULL },
};

struct state {
    struct mot_hub hub;
    struct mot_rng rng;
};

static struct mot_hub_need state_need(const void *conf, const struct mot_world *world)
{
    (void)conf, (void)world;
    return (struct mot_hub_need){ .state_bytes = sizeof(struct state), .queue = 1 };
}

static void begin(void *p, struct mot_env *env)
{
    struct state *s = p;
    s->rng = mot_rng_at(env->world->seed, MOT_RNG_METHOD, 0);
    for (mot_node i = 0; i < env->world->workers; i++) mot_hub_give(&s->hub, env, i);
}

static void gradient(void *p, struct mot_env *env, const struct mot_answer *a)
{
    struct state *s = p;
    const struct conf *conf = env->conf;
    double length = mot_vector_norm(a->grad.len, mot_read(env, a->grad.buf) + a->grad.off) / a->samples;
    double scale = length > conf->clip ? conf->clip / length : 1;
    if (conf->rests > 0 && mot_rng_unit(&s->rng) < conf->rests) {
        if (!mot_hub_look(&s->hub, env, a)) return;
        mot_note(env, "rested", 1);
    } else {
        if (!mot_hub_step(&s->hub, env, a, scale / a->samples, 1)) return;
        if (scale < 1) mot_note(env, "clipped", 1);
        mot_hub_credit(env, a->from, a->delay);
        mot_advance(env);
    }
    mot_hub_give(&s->hub, env, a->from);
}

static const struct mot_served rule = {
    .need = state_need, .at_once = mot_hub_always, .begin = begin, .gradient = gradient
};
MOT_SERVED(rule)

static void traits(const void *conf, uint32_t workers, struct mot_traits *t)
{
    mot_served_traits(conf, workers, t);
    t->batches = 1;
    t->round = 0;
    t->asynchronous = true;
}

const struct mot_method clipped = { .name = "clipped",
    .summary = "asynchronous SGD with clipped gradients",
    .about = "A method that is not part of motley.",
    .options = options,
    .conf_bytes = sizeof(struct conf),
    .traits = traits,
    MOT_SERVED_BY(rule) };
