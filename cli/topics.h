/* topics.h -- help pages on files and choices, made from the option tables. */
#ifndef MOT_CLI_TOPICS_H
#define MOT_CLI_TOPICS_H

#include "config/keys.h"
#include "help_page.h"

struct topic {
    const char *name, *summary;
    void (*print)(struct page *);
};
extern const struct topic topics[];               /* ended by a NULL name */
const struct topic *topic_find(const char *name); /* or NULL */

void topic_exit_codes_items(struct page *);

/* A section with its keys, each with `prefix` and a dot before it. */
void page_section(struct page *, const struct mot_section *, const char *prefix);
void page_family(struct page *, const struct mot_family *);
void page_choice(struct page *, const struct mot_family *, const struct mot_choice *);

/* A key of an experiment, and the part it belongs to. */
void page_key(struct page *, const struct mot_key *);

#endif
