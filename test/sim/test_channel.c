/* The channel of a simulated run: whatever frames suffer, each message
 * arrives once and in order, in bounded memory. */
#include "sim/sim.h"
#include "method/methods.h"
#include "run/run.h"

#define MESSAGES 3000u
#define AHEAD 16u /* messages that the sender has under way */

static uint32_t sent, received, out_of_order, lost_peers;
static bool waits;       /* ten seconds after a loss, and then ends well */
static mot_time sending; /* how long worker 0 had messages under way */

struct stream {
    uint32_t sent, got;
};
enum { STREAM_DATA, STREAM_THANKS };

static struct mot_need stream_need(const void *conf, const struct mot_world *world, mot_node self)
{
    (void)conf, (void)world, (void)self;
    return (struct mot_need){
        .state_bytes = sizeof(struct stream), .buffers = 2, .sends = AHEAD + 1, .alarms = 1
    };
}

static void stream_init(void *p, struct mot_env *env) { (void)p, (void)env; }

static void pour(struct stream *s, struct mot_env *env)
{
    while (s->sent < MESSAGES && s->sent - s->got < AHEAD) {
        mot_send(
            env, 1, STREAM_DATA, (struct mot_head){ .round = s->sent++ }, mot_whole(env, env->world->x0));
        sent++;
    }
    if (s->got == MESSAGES) mot_stop(env, MOT_OK);
}

/* Worker 0 sends, worker 1 thanks for each: numbers must come as 0, 1, 2, ... at both. */
static void stream_step(void *p, struct mot_env *env, const struct mot_event *event)
{
    struct stream *s = p;
    if (event->kind == MOT_EV_PEER) {
        lost_peers++;
        if (waits && env->self == 0) mot_alarm(env, 0, env->now + UINT64_C(10000000000));
        else mot_stop(env, MOT_EPEER);
        return;
    }
    if (event->kind == MOT_EV_TIMER) mot_stop(env, MOT_OK);
    if (event->kind == MOT_EV_START && env->self == 0) pour(s, env);
    if (event->kind != MOT_EV_MESSAGE) return;
    out_of_order += event->message->head.round != s->got;
    s->got++;
    if (env->self == 0) {
        pour(s, env);
        return;
    }
    received++;
    mot_send(env, 0, STREAM_THANKS, event->message->head, (struct mot_slice){ 0 });
    if (s->got == MESSAGES) mot_stop(env, MOT_OK);
}

static bool stream_model(const void *p, const struct mot_env *env, struct mot_view *view)
{
    (void)p;
    *view = (struct mot_view){ .x = env->world->x0, .scale = 1 };
    return true;
}

static const struct mot_option no_options[] = { { .name = NULL } };
static const struct mot_method stream = { .name = "stream",
    .summary = "a stream of numbers",
    .options = no_options,
    .need = stream_need,
    .init = stream_init,
    .step = stream_step,
    .model = stream_model };

/* So many frames may be out at once; 0: as many as usual. */
static struct mot_outcome play(const char *faults, const char *seed, uint32_t frames)
{
    const struct mot_method *more[] = { &stream, NULL };
    char cluster[400];
    struct mot_experiment *x = NULL;
    struct mot_job job;
    struct mot_outcome out = { .status = MOT_EUSAGE };
    sent = received = out_of_order = lost_peers = 0;
    snprintf(cluster, sizeof cluster, "{workers: 2, faults: %s}", faults);
    const struct mot_setting setting[] = { { "data", "digits", "test" }, { "model", "softmax", "test" },
        { "method", "stream", "test" }, { "cluster", cluster, "test" }, { "seed", seed, "test" } };
    mot_methods_extend(more);
    if (mot_experiment_open(NULL, setting, MOT_COUNT(setting), &x) == MOT_OK &&
        mot_job_open(x, &job) == MOT_OK) {
        struct mot_driver_options o = {
            .experiment = x, .problem = &job.problem, .optim = &job.optim, .x0 = job.x0, .frames = frames
        };
        struct mot_outcome all;
        out.status = mot_driver_sim.run(&o, &all);
        if (out.status == MOT_OK) {
            out = (struct mot_outcome){ .status = all.status, .last = all.last, .faults = all.faults };
            sending = all.node[0].send;
            mot_outcome_close(&all);
        }
        mot_job_close(&job);
    }
    if (out.status == MOT_EUSAGE) printf("  %s\n", mot_error());
    mot_methods_extend(NULL);
    mot_experiment_close(x);
    return out;
}

static void arrives_through(const char *faults, uint32_t frames)
{
    static const char *const seeds[] = { "1", "2", "3" };
    for (int i = 0; i < 3; i++) {
        struct mot_outcome out = play(faults, seeds[i], frames);
        if (out.status != MOT_OK || out_of_order || received != MESSAGES)
            printf("  %s with seed %s\n", faults, seeds[i]);
        CHECK_INT(out.status, MOT_OK);
        CHECK_INT(sent, MESSAGES);
        CHECK_INT(received, MESSAGES);
        CHECK_INT(out_of_order, 0);
    }
}

static void arrives(const char *faults) { arrives_through(faults, 0); }

TEST(a_third_of_frames_lost_leaves_a_stream_whole) { arrives("{drop: 30%}"); }
TEST(doubled_frames_arrive_once) { arrives("{duplicate: 30%}"); }
TEST(frames_that_overtake_each_other_are_put_in_order) { arrives("{reorder: 50%}"); }
TEST(damaged_frames_are_sent_again) { arrives("{corrupt: 30%}"); }
TEST(all_of_it_at_once_leaves_a_stream_whole)
{
    arrives("{drop: 20%, duplicate: 30%, reorder: 30%, corrupt: 10%}");
}
TEST(slow_links_and_short_partitions_leave_a_stream_whole)
{
    arrives("{drop: 5%, partition: 0.3/s, partition_for: 100ms, slow_link: 0.2/s, slow_link_factor: 50, "
            "stall: 0.3/s}");
}

TEST(what_exceeds_the_room_waits_its_turn)
{
    for (uint32_t frames = 1; frames < 20; frames += 6) {
        arrives_through("{drop: 20%, duplicate: 30%, reorder: 30%, corrupt: 10%}", frames);
        arrives_through(
            "{drop: 5%, duplicate: 50%, stall: 0.3/s, partition: 0.3/s, partition_for: 100ms}", frames);
    }
}

TEST(a_peer_is_given_up_with_what_waited_for_it)
{
    struct mot_outcome out = play("[{kind: partition, at: 5ms, for: 10s, worker: 1}]", "1", 3);
    CHECK_INT(out.status, MOT_EPEER);
    CHECK_INT(out.last.now, UINT64_C(1005000000));
    CHECK(received > 0 && out_of_order == 0);
}

/* All sixteen, not only the first: nothing is sent to the lost any more, and nobody is busy with it. */
TEST(messages_in_flight_to_a_lost_peer_are_forgotten)
{
    waits = false;
    struct mot_outcome until = play("[{kind: crash, at: 5ms, worker: 1}]", "1", 0);
    CHECK_INT(until.status, MOT_EPEER);
    waits = true;
    struct mot_outcome out = play("[{kind: crash, at: 5ms, worker: 1}]", "1", 0);
    waits = false;
    CHECK_INT(out.status, MOT_OK);
    CHECK_INT(lost_peers, 1);
    CHECK_INT(out.last.now, until.last.now + UINT64_C(10000000000));
    CHECK_INT(out.faults.resent, until.faults.resent);
    CHECK(sending <= until.last.now);
}

TEST(time_outs_do_not_grow_with_what_waits_for_a_lost_frame)
{
    /* Every message may be lost a few times; half a minute is ten milliseconds for each of the 3000. */
    struct mot_outcome out = play("{drop: 30%}", "1", 0);
    CHECK_INT(out.status, MOT_OK);
    CHECK(out.last.now < UINT64_C(30000000000));
}

TEST(each_fault_is_counted)
{
    struct mot_outcome out = play("{drop: 10%, duplicate: 10%, reorder: 10%, corrupt: 10%}", "1", 0);
    /* of data and thanks at the least, and as many acknowledgements at the most */
    uint64_t frames = 2 * MESSAGES;
    CHECK(out.faults.dropped > frames / 20 && out.faults.dropped < frames);
    CHECK(out.faults.duplicated > frames / 20 && out.faults.duplicated < frames);
    CHECK(out.faults.reordered > frames / 20 && out.faults.reordered < frames);
    CHECK(out.faults.corrupted > frames / 20 && out.faults.corrupted < frames);
    CHECK(out.faults.resent > frames / 20);
    CHECK_INT(out.faults.cut, 0);
}

TEST(without_faults_below_it_the_channel_costs_no_time)
{
    mot_time plain = play("[]", "1", 0).last.now;
    struct mot_outcome out = play("[{kind: drop, at: 1000s, for: 1s}]", "1", 0); /* after the end */
    CHECK_INT(out.last.now, plain);
    CHECK_INT(out.faults.resent, 0);
}

TEST(a_dropped_frame_costs_one_time_out)
{
    /* All frames from or to worker 1 of the first microsecond: the first sixteen
     * messages; the last of them to leave is sent anew last. */
    mot_time plain = play("[]", "1", 0).last.now;
    struct mot_outcome out = play("[{kind: drop, at: 0, for: 1us, worker: 1}]", "1", 0);
    CHECK_INT(out.faults.dropped, AHEAD);
    CHECK_INT(out.faults.resent, AHEAD);
    CHECK(out.last.now >= plain + 10000000u); /* the least time-out is 10 ms */
    CHECK(out.last.now <= plain + 15000000u);
}

TEST(a_peer_that_never_answers_is_given_up)
{
    struct mot_outcome out = play("[{kind: drop, at: 0, for: 1000s, probability: 1}]", "1", 0);
    CHECK_INT(out.status, MOT_EPEER);
    CHECK_INT(lost_peers, 1);
    CHECK_INT(received, 0);
    CHECK_INT(out.faults.given_up, 1);
    CHECK(out.last.now < UINT64_C(5000000000));
}

TEST_MAIN()
