/* ticker.h -- one line of progress: redrawn in place on a terminal, printed now and then elsewhere. */
#ifndef MOT_BASE_TICKER_H
#define MOT_BASE_TICKER_H

#include <stdbool.h>
#include <stdio.h>

struct mot_ticker {
    FILE *out;
    bool terminal, drawn;
    double began, last; /* wall seconds */
};
void mot_ticker_open(struct mot_ticker *, FILE *out, bool terminal);
/* Whether it is time for another line. Work of less than two seconds prints one only on a terminal. */
bool mot_ticker_due(const struct mot_ticker *);
void mot_ticker_show(struct mot_ticker *, char *line); /* cuts it to the terminal's width */
void mot_ticker_clear(struct mot_ticker *);            /* so that nothing is drawn over it */

#endif
