/* main.c -- runs local SGD through the library.
 *
 *   cc main.c local_sgd.c $(pkg-config --cflags --libs motley) -o local_sgd
 *   ./local_sgd method.period=16 */
#include <motley/motley.h>
#include <stdio.h>

extern const struct mot_method local_sgd;

int main(int count, char **arguments)
{
    const char *set[32] = { "method=local-sgd" };
    size_t sets = 1;
    for (int i = 1; i < count && sets < 32; i++) set[sets++] = arguments[i];
    const struct mot_method *methods[] = { &local_sgd, NULL };
    struct mot_run_options o = { .size = sizeof(o), .set = set, .sets = sets, .methods = methods };
    struct mot_run *run;
    enum mot_status status = mot_run_open(&o, &run);
    if (status == MOT_OK) {
        status = mot_run_simulate(run);
        printf("%s\n", mot_run_summary(run));
        mot_run_close(run);
    }
    if (status != MOT_OK) fprintf(stderr, "local_sgd: %s\n", mot_error());
    return (int)status;
}
