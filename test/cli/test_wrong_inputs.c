/* Wrong inputs, through the real program: each message says where, what, what was
 * expected, and the nearest valid name if there is one; the exit code is as documented. */
#include "base/file.h"
#include "test.h"
#include <sys/wait.h>
#include <unistd.h>

struct wrong {
    const char *what;
    const char *experiment; /* the text of exp.yaml, or NULL */
    const char *command;    /* what follows `motley` */
    int status;
    const char *needle[4]; /* what the message has in it */
};

#define DRY "sim exp.yaml --dry-run"

static const struct wrong experiments[] = {
    { "a misspelt section", "optimiser: sgd\n", DRY, 2,
        { "exp.yaml:1:1: optimiser:", "unknown key", "did you mean 'optimizer'?" } },
    { "a misspelt key", "optimizer: {name: sgd, momentun: 0.9}\n", DRY, 2,
        { "exp.yaml:1:24", "optimizer.momentun", "did you mean 'momentum'?", "known here: lr" } },
    { "a key in the wrong section", "lr: 0.1\n", DRY, 2,
        { "exp.yaml:1:1: lr:", "did you mean 'optimizer.lr'?" } },
    { "a misspelt method", "seed: 3\nmethod: asinc\n", DRY, 2,
        { "exp.yaml:2:9: method:", "allreduce, server, async", "did you mean 'async'?" } },
    { "a misspelt method in a map", "method: {name: servr, k: 3}\n", DRY, 2,
        { "exp.yaml:1:16: method.name:", "did you mean 'server'?" } },
    { "a misspelt model", "model: sofmax\n", DRY, 2,
        { "exp.yaml:1:8: model:", "expected one of logistic", "did you mean 'softmax'?" } },
    { "an option of another method", "method: {name: async, k: 3}\n", DRY, 2,
        { "exp.yaml:1:23", "method.k: unknown key; it is an option of 'server'" } },
    { "a time without a unit", "stop: {time: 10}\n", DRY, 2,
        { "exp.yaml:1:14: stop.time:", "expected a time such as 3ms", "found '10'" } },
    { "a time with a wrong unit", "stop: {time: 10 parsecs}\n", DRY, 2,
        { "stop.time", "expected a time", "10 parsecs" } },
    { "a learning rate that is no number", "optimizer: {lr: fast}\n", DRY, 2,
        { "exp.yaml:1:17: optimizer.lr:", "expected a number", "'fast'" } },
    { "a momentum out of range", "optimizer: {momentum: 1.5}\n", DRY, 2,
        { "optimizer.momentum", "from 0 to 0.9999", "'1.5'" } },
    { "a negative count", "workers: -3\n", DRY, 2,
        { "exp.yaml:1:10: workers:", "from 1 to 100000", "'-3'" } },
    { "no workers", "workers: 0\n", DRY, 2, { "exp.yaml:1:10: workers:", "from 1 to 100000", "'0'" } },
    { "a list where a number is expected", "seed: [1, 2]\n", DRY, 2,
        { "exp.yaml:1:7: seed:", "expected a whole number", "found a list" } },
    { "a map where a word is expected", "data: {scale: {a: 1}}\n", DRY, 2, { "data.scale", "unknown key" } },
    { "a word where a map is expected", "stop: never\n", DRY, 2,
        { "exp.yaml:1:7: stop:", "expected a map", "'never'" } },
    { "a key without a value", "seed:\n", DRY, 2,
        { "exp.yaml:1:6: seed:", "expected a whole number", "found nothing" } },
    { "a key given twice", "seed: 1\nbatch: 8\nseed: 2\n", DRY, 2,
        { "exp.yaml:3:1", "'seed' is given twice", "line 1" } },
    { "a key and its synonym", "optimizer: {lr: 0.1, learning_rate: 0.2}\n", DRY, 2,
        { "exp.yaml:1:22: optimizer.lr:", "given twice", "'learning_rate'" } },
    { "a misspelt choice", "sim: {collective: rign}\n", DRY, 2,
        { "exp.yaml:1:19: sim.collective:", "one of ring, tree, doubling", "did you mean 'ring'?" } },
    { "an empty word in a list", "model: {name: network, layers: [{name: linear, as: '', out: classes}]}\n",
        DRY, 2, { "exp.yaml:1:", "model.layers: in the list: expected a word or a number", "found ''" } },
    { "a line break in a list",
        "model: {name: network, layers: [{name: linear, as: \"a\\nb\", out: classes}]}\n", DRY, 2,
        { "exp.yaml:1:", "model.layers: in the list: expected a word or a number", "a\\nb" } },
    { "neither true nor false", "trace: maybe\n", DRY, 2,
        { "exp.yaml:1:8: trace:", "true or false", "'maybe'" } },
    { "too few batches", "workers: 3\nbatch: [8, 8]\n", DRY, 2,
        { "exp.yaml:2:8: batch:", "3 workers", "a list of 2" } },
    { "an empty batch", "batch: 0\n", DRY, 2, { "exp.yaml:1:8: batch:", "from 1 to", "'full'" } },
    { "two targets", "stop: {target: {train_loss: 0.1, test_accuracy: 0.9}}\n", DRY, 2,
        { "exp.yaml:1:34: stop.target:", "expected one target", "found two" } },
    { "an accuracy above 1", "stop: {target: {test_accuracy: 85}}\n", DRY, 2,
        { "stop.target.test_accuracy", "from 0 to 1", "'85'" } },
    { "nothing that ends the run", "stop: {epochs: none}\n", DRY, 2,
        { "exp.yaml:1:7: stop:", "at least one of updates, epochs, time and target" } },
    { "a time that never comes", "cluster: {workers: [{job_time: 0s}], network: none}\nstop: {time: 1s}\n",
        DRY, 2, { "exp.yaml:2:7: stop:", "expected updates or epochs", "take no time in this cluster" } },
    { "an interval without a unit", "evaluate: {every: 100}\n", DRY, 2,
        { "exp.yaml:1:19: evaluate.every:", "100 updates", "found '100'" } },
    { "more gradients than workers", "workers: 4\nmethod: {name: server, k: 7}\n", DRY, 2,
        { "k", "7", "4" } },
    { "a misspelt code", "method: coded\ncode: frk\n", DRY, 2,
        { "exp.yaml:2:7: code:", "expected one of auto, frc, crc", "did you mean 'frc'?" } },
    { "groups that do not fit the workers", "method: coded\nworkers: 8\ncode: {name: frc, stragglers: 2}\n",
        DRY, 2, { "exp.yaml:3:7: code frc:", "8 workers cannot form groups of 3" } },
    { "as many stragglers as workers", "method: coded\nworkers: 4\ncode: {name: crc, stragglers: 4}\n", DRY,
        2, { "exp.yaml:3:31: code.stragglers:", "found 4", "fewer than there are workers (4)" } },
    { "an option of another code", "code: {name: uncoded, stragglers: 1}\n", DRY, 2,
        { "exp.yaml:1:23: code.stragglers:", "unknown key; it is an option of 'auto'" } },
    { "more parts than rows", "data: {name: digits, test: 0.98}\nmethod: coded\nworkers: 40\n", DRY, 2,
        { "40 parts share 36 training rows", "use fewer parts or more rows" } },
    { "broken YAML", "method: {name: async\nseed: 1\n", DRY, 2, { "exp.yaml:", "not valid YAML" } },
    { "a tab in YAML", "stop:\n\tupdates: 5\n", DRY, 2, { "exp.yaml:2:1", "not valid YAML" } },
    { "an anchor", "seed: &s 1\n", DRY, 2, { "exp.yaml:1:7", "anchor" } },
    { "no UTF-8", "output: \"\xff\xfe\"\n", DRY, 2, { "exp.yaml", "UTF-8" } },
    { "two documents", "seed: 1\n---\nseed: 2\n", DRY, 2, { "exp.yaml:2:1", "second YAML document" } },
    { "a list as an experiment", "- seed: 1\n", DRY, 2,
        { "exp.yaml:1:1", "expected a map", "found a list" } },
    { "a folder for an experiment", NULL, "sim /", 2,
        { "expected an experiment file; found the folder '/'" } },
    { "a missing experiment", NULL, "sim nowhere.yaml", 2, { "there is no experiment file 'nowhere.yaml'" } },
};

static const struct wrong clusters[] = {
    { "a misspelt fault", "cluster: {workers: 2, faults: [{kind: crush, at: 1s, worker: 0}]}\n", DRY, 2,
        { "exp.yaml:1:39: cluster.faults[0].kind:", "expected one of crash, restart",
            "did you mean 'crash'?" } },
    { "a fault of no kind", "cluster: {workers: 2, faults: [{at: 1s}]}\n", DRY, 2,
        { "exp.yaml:1:32: cluster.faults[0].kind:", "is missing" } },
    { "a fault at no time", "cluster: {workers: 2, faults: {schedule: [{kind: drop}]}}\n", DRY, 2,
        { "cluster.faults.schedule[0].at:", "is missing" } },
    { "a crash of nobody", "cluster: {workers: 2, faults: [{kind: crash, at: 1s}]}\n", DRY, 2,
        { "exp.yaml:1:32", "whom it affects", "server: true" } },
    { "a crash of a worker that is not there",
        "cluster: {workers: 2, faults: [{kind: crash, at: 1s, worker: 2}]}\n", DRY, 2,
        { "exp.yaml:1:62: cluster.faults[0].workers:", "from 0 to 1", "found 2" } },
    { "a server that comes back",
        "cluster: {workers: 2, faults: [{kind: crash, at: 1s, for: 2s, server: true}]}\n", DRY, 2,
        { "cluster.faults[0].for:", "ends the run" } },
    { "a misspelt rate", "cluster: {workers: 2, faults: {dropp: 1%}}\n", DRY, 2,
        { "exp.yaml:1:32: cluster.faults.dropp:", "did you mean 'drop'?" } },
    { "a chance above one", "cluster: {workers: 2, faults: {drop: 120%}}\n", DRY, 2,
        { "cluster.faults.drop", "from 0 to 0.9" } },
    { "a word for faults", "cluster: {workers: 2, faults: many}\n", DRY, 2,
        { "cluster.faults:", "expected a map" } },
    { "a missing cluster file", "cluster: clutser.yaml\n", DRY, 2,
        { "exp.yaml:1:10: cluster:", "there is no file 'clutser.yaml'" } },
    { "a cluster without workers", "cluster: {network: none}\n", DRY, 2,
        { "exp.yaml:1:10: cluster.workers:", "is missing", "a cluster needs workers" } },
    { "an empty list of workers", "cluster: {workers: []}\n", DRY, 2,
        { "exp.yaml:1:20: cluster.workers:", "at least one group", "empty list" } },
    { "a group of none", "cluster: {workers: [{count: 0}]}\n", DRY, 2,
        { "exp.yaml:1:29: cluster.workers[0].count:", "from 1 to 100000", "'0'" } },
    { "a misspelt key of a group", "cluster:\n  workers:\n    - speed: 100/s\n    - sped: 200/s\n", DRY, 2,
        { "exp.yaml:4:7: cluster.workers[1].sped", "unknown key", "did you mean 'speed'?" } },
    { "an unknown price", "cluster: {workers: [{job_time: 2s}], per: batch}\n", DRY, 2,
        { "exp.yaml:1:43: cluster.per:", "expected one of auto, job, samples", "'batch'" } },
    { "a speed priced by the job", "cluster: {workers: [{speed: 5/s, per: job}]}\n", DRY, 2,
        { "exp.yaml:1:39: cluster.workers[0].per:", "expected workers with a job_time or a trace" } },
    { "a speed without a unit", "cluster: {workers: [{speed: 500}]}\n", DRY, 2,
        { "cluster.workers[0].speed", "a rate such as 500 samples/s", "'500'" } },
    { "a bandwidth that is a size", "cluster: {workers: 2, network: {bandwidth: 20MB}}\n", DRY, 2,
        { "exp.yaml:1:44: cluster.network.bandwidth:", "a bandwidth such as 20Mbit", "'20MB'" } },
    { "a latency without a unit", "cluster: {workers: 2, network: {latency: 5}}\n", DRY, 2,
        { "cluster.network.latency", "a time such as 3ms", "'5'" } },
    { "a misspelt word for no network", "cluster: {workers: 2, network: nnone}\n", DRY, 2,
        { "cluster.network", "did you mean 'none'?" } },
    { "a misspelt law", "cluster: {workers: [{jitter: lognorml}]}\n", DRY, 2,
        { "cluster.workers[0].jitter", "expected one of fixed, uniform", "did you mean 'lognormal'?" } },
    { "a key of another law", "cluster: {workers: [{jitter: {name: pareto, sigma: 1}}]}\n", DRY, 2,
        { "cluster.workers[0].jitter.sigma", "known here: mean, alpha, plus" } },
    { "a law without its mean", "cluster: {workers: [{job_time: exponential}]}\n", DRY, 2,
        { "exp.yaml:1:32: cluster.workers[0].job_time.mean:", "is missing", "a time" } },
    { "a uniform law upside down", "cluster: {workers: [{job_time: {name: uniform, low: 3s, high: 1s}}]}\n",
        DRY, 2, { "cluster.workers[0].job_time", "low <= high" } },
    { "a job of a thousand years", "cluster: {workers: [{job_time: 9000000000s}]}\n", DRY, 2,
        { "exp.yaml:1:32: cluster.workers[0].job_time:", "at most 1000000000 s", "'9000000000s'" } },
    { "a law of a thousand years", "cluster: {workers: [{job_time: {name: pareto, mean: 9000000000s}}]}\n",
        DRY, 2, { "cluster.workers[0].job_time.mean:", "to 277778 h" } },
    { "a job_time beside a speed", "cluster: {workers: [{speed: 5/s, job_time: 1s}]}\n", DRY, 2,
        { "exp.yaml:1:22: cluster.workers[0].speed:", "beside job_time" } },
    { "a chance above 1", "cluster: {workers: [{straggle: {name: iid, p: 2}}]}\n", DRY, 2,
        { "cluster.workers[0].straggle.p", "from 0 to 1", "'2'" } },
    { "a missing trace", "cluster: {workers: [{straggle: {name: trace, path: t.csv}}]}\n", DRY, 2,
        { "exp.yaml:1:52: cluster.workers[0].straggle.path:", "there is no file", "t.csv" } },
    { "a damaged trace", "cluster: {workers: [{straggle: {name: trace, path: bad.csv}}]}\n", DRY, 2,
        { "bad.csv:3", "column 2", "found 'oops'", "seconds" } },
    { "workers that contradict the cluster", "workers: 8\ncluster: {workers: 6}\n", DRY, 2,
        { "exp.yaml:1:10: workers:", "expected 6", "exp.yaml:2:20", "found 8" } },
    { "a cluster file without workers", NULL, "cluster show empty.yaml", 2,
        { "empty.yaml", "workers", "a cluster needs workers" } },
    { "a cluster that is not there", NULL, "cluster show nowhere.yaml", 2,
        { "nowhere.yaml", "no such cluster file" } },
    { "a trace that is not there", NULL, "trace fit nowhere.csv", 2, { "nowhere.csv", "no such trace" } },
    { "a trace with a word", NULL, "trace fit bad.csv", 2, { "bad.csv:3", "column 2", "found 'oops'" } },
    { "a trace with a missing cell", NULL, "trace fit missing.csv", 2,
        { "missing.csv:3: column 3: found ''", "expected a time in seconds" } },
    { "a trace with a short row", NULL, "trace fit ragged.csv", 2, { "ragged.csv:3: found 2 columns" } },
    { "a trace with a time of nothing", NULL, "trace fit good.csv", 2,
        { "good.csv: row 0, node 2", "from 1 ns", "found 0 s" } },
    { "a trace that is an empty file", NULL, "trace fit empty.yaml", 2,
        { "empty.yaml:1: found an empty line" } },
    { "a threshold that the median passes", NULL, "trace fit missing.csv --threshold 1", 2,
        { "--threshold: expected a number above 1", "found '1'" } },
    { "a misspelt model to write", NULL, "trace fit times.csv --out x.yaml --model markv", 2,
        { "--model: expected iid,", "found 'markv'; did you mean 'markov'?" } },
    { "a model that nothing is written with", NULL, "trace fit times.csv --model iid", 2,
        { "give --out FILE" } },
};

static const struct wrong flags[] = {
    { "a misspelt command", NULL, "simm", 2, { "unknown command 'simm'", "did you mean 'sim'?" } },
    { "a misspelt second word", NULL, "data lst", 2, { "'data lst'", "did you mean 'data list'?" } },
    { "half a command", NULL, "cluster", 2, { "'cluster' needs a subcommand: show" } },
    { "a code that is none", NULL, "code crx", 2,
        { "motley: NAME: code: expected one of auto, frc", "found 'crx': did you mean 'crc'?" } },
    { "half of a command that fits recorded times", NULL, "trace", 2, { "'trace' needs a subcommand: fit" } },
    { "a misspelt flag", NULL, "sim --optimizer-momentun 0.9", 2,
        { "--optimizer-momentun", "unknown flag", "did you mean '--optimizer-momentum'?" } },
    { "a flag near none", NULL, "sim --bogus 1", 2,
        { "unknown flag '--bogus'; 'motley help sim' lists them" } },
    { "the last word of a flag", NULL, "sim --lr 0.9", 2, { "--lr", "did you mean '--optimizer-lr'?" } },
    { "a flag without its value", NULL, "sim --dry-run --seed", 2,
        { "--seed", "expected a value after the flag", "found nothing" } },
    { "a switch with a value", NULL, "sim --dry-run=yes", 2, { "--dry-run", "takes no value", "'yes'" } },
    { "a flag with a wrong value", NULL, "sim --dry-run --stop-updates many", 2,
        { "--stop-updates: stop.updates:", "a whole number", "'many'" } },
    { "a setting without a value", NULL, "sim --dry-run --set stop.updates", 2,
        { "--set", "KEY=VALUE", "'stop.updates'" } },
    { "a setting of an unknown key", NULL, "sim --dry-run --set stop.update=5", 2,
        { "--set: stop.update", "did you mean 'updates'?" } },
    { "a setting of half a key", NULL, "sim --dry-run --set stop.=5", 2,
        { "--set", "expected a key such as stop.updates", "'stop.'" } },
    { "a word too many", NULL, "sim a.yaml b.yaml", 2, { "expected: motley sim", "'b.yaml'" } },
    { "an unknown topic", NULL, "help method asink", 2,
        { "unknown method 'asink'", "did you mean 'async'?" } },
    { "a misspelt data set", "data: digts\n", DRY, 2,
        { "exp.yaml:1:7: data:", "digits, fashion-mnist, synthetic", "did you mean 'digits'?" } },
    { "a missing data file", NULL, "sim --dry-run --data nowhere.csv", 2,
        { "--data: data:", "nowhere.csv", "no such file" } },
    { "a missing test file", "data: {path: good.csv, test_path: nowhere.csv}\n", DRY, 2,
        { "exp.yaml:1:35: data.test_path:", "there is no file" } },
    { "a name and a path", "data: {name: digits, path: good.csv}\n", DRY, 2,
        { "exp.yaml:1:22: data.path:", "either a name or a path" } },
    { "a damaged data file", NULL, "sim --dry-run --data bad.libsvm", 3, { "bad.libsvm", "2" } },
    { "a truncated IDX file", NULL, "data info short-images-idx3-ubyte", 3, { "short-images-idx3-ubyte" } },
    { "a file that is no gzip", NULL, "data info broken.csv.gz", 3, { "broken.csv.gz" } },
    { "a ragged CSV file", NULL, "data info ragged.csv", 3, { "ragged.csv", "3" } },
};

/* ---- Running them --------------------------------------------------------------------- */

static char folder[] = "/tmp/motley-wrong-XXXXXX";

static bool put(const char *name, const void *bytes, size_t n)
{
    char *path = mot_path_join(folder, name);
    bool good = mot_file_replace(path, bytes, n) == MOT_OK;
    free(path);
    return good;
}

static bool set_up(void)
{
    static bool done;
    static const unsigned char idx[] = { 0, 0, 8, 3, 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3 };
    static const unsigned char gzip[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff };
    static const char trace[] = "iteration,a,b\n0,1,2\n1,oops,2\n", libsvm[] = "1 1:0.5\n-1 3:x\n";
    static const char good[] = "1,2,0\n3,4,1\n5,6,0\n7,8,1\n", ragged[] = "1,2,0\n3,4,1\n5,6\n";
    static const char missing[] = "iteration,a,b\n0,1,2\n1,2,\n", times[] = "1,2,3\n";
    if (done) return true;
    done = mkdtemp(folder) && put("bad.csv", trace, strlen(trace)) && put("empty.yaml", "", 0) &&
        put("bad.libsvm", libsvm, strlen(libsvm)) && put("short-images-idx3-ubyte", idx, sizeof idx) &&
        put("broken.csv.gz", gzip, sizeof gzip) && put("good.csv", good, strlen(good)) &&
        put("ragged.csv", ragged, strlen(ragged)) && put("missing.csv", missing, strlen(missing)) &&
        put("times.csv", times, strlen(times));
    return done;
}

static void run(const struct wrong *w)
{
    char command[2048], message[8192];
    if (w->experiment && !put("exp.yaml", w->experiment, strlen(w->experiment)))
        FAIL("exp.yaml cannot be written");
    snprintf(command, sizeof command, "cd %s && '%s' %s 2>&1 >/dev/null </dev/null", folder, getenv("MOTLEY"),
        w->command);
    FILE *pipe = popen(command, "r");
    if (!pipe) FAIL("cannot run: %s", command);
    size_t n = fread(message, 1, sizeof message - 1, pipe);
    message[n] = '\0';
    int status = pclose(pipe);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != w->status)
        FAIL("%s: exit status %d, expected %d: %s", w->what, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            w->status, message);
    if (strncmp(message, "motley: ", 8) != 0)
        FAIL("%s: the message does not begin with 'motley: ': %s", w->what, message);
    if (strchr(message, '\n') != message + n - 1)
        FAIL("%s: the message is not one line: %s", w->what, message);
    for (size_t i = 0; i < 4 && w->needle[i]; i++)
        if (!strstr(message, w->needle[i])) FAIL("%s: no \"%s\" in: %s", w->what, w->needle[i], message);
}

static void run_all(const struct wrong *w, size_t n)
{
    if (!getenv("MOTLEY") || access(getenv("MOTLEY"), X_OK) != 0) SKIP("MOTLEY does not name the program");
    if (!set_up()) FAIL("%s cannot be made", folder);
    for (size_t i = 0; i < n; i++) run(&w[i]);
    printf("  %zu wrong inputs\n", n);
}

TEST(wrong_experiments_are_refused_with_place_and_remedy)
{
    run_all(experiments, sizeof experiments / sizeof *experiments);
}
TEST(wrong_clusters_are_refused_with_place_and_remedy)
{
    run_all(clusters, sizeof clusters / sizeof *clusters);
}
TEST(wrong_flags_and_data_are_refused_with_place_and_remedy) { run_all(flags, sizeof flags / sizeof *flags); }

TEST(the_folder_of_wrong_inputs_is_cleared_away)
{
    static const char *const made[] = { "exp.yaml", "bad.csv", "empty.yaml", "bad.libsvm",
        "short-images-idx3-ubyte", "broken.csv.gz", "good.csv", "ragged.csv", "missing.csv", "times.csv" };
    if (strstr(folder, "XXXXXX")) SKIP("nothing was run");
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        char *path = mot_path_join(folder, made[i]);
        unlink(path);
        free(path);
    }
    /* Fails if a run left something behind. */
    CHECK_INT(rmdir(folder), 0);
}

TEST_MAIN()
