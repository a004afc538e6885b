/* judged.h -- for tests of verdicts: what is said of a made-up run. */
#ifndef MOT_TEST_REPORT_JUDGED_H
#define MOT_TEST_REPORT_JUDGED_H

#include "report/fixture.h"

static char *verdict;
static const char *judge(struct run *r)
{
    free(verdict);
    verdict = mot_verdict(&r->e, &r->o);
    return verdict;
}

#define CHECK_LACKS(text, part) CHECK(strstr((text), (part)) == NULL)

#endif
