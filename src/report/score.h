/* score.h -- a saved model on data: for `motley eval`, `motley predict` and `motley features`. */
#ifndef MOT_REPORT_SCORE_H
#define MOT_REPORT_SCORE_H

#include "report/report.h"

#define MOT_CONFUSION_MOST 20 /* classes up to which a confusion matrix is kept */

/* Which rows: those the model was tested on, trained on, or all. AUTO is the test part if DATA is what
 * the model was trained on, otherwise all. FILE is all that a run takes from the training file, in its order,
 * even if the set has test rows of its own. */
enum mot_part { MOT_PART_AUTO, MOT_PART_TEST, MOT_PART_TRAIN, MOT_PART_VALID, MOT_PART_ALL, MOT_PART_FILE };

struct mot_subject { /* a model, and the rows it is to judge */
    struct mot_saved_model *model;
    struct mot_net net; /* the model's, opened for these rows */
    struct mot_dataset *data;
    struct mot_table table[3];
    size_t tables;
    uint64_t rows;
    const char *part;   /* "test", "train", "valid" or "all" */
    const char *source; /* as given, or what the model was trained on */
};

/* Opens both. `model` is a model file or the folder of a run. `source` is a built-in set's name or a file;
 * NULL is what the model was trained on: its test rows, unless a part is named. If the model was
 * trained on the source, its data section and seed are the defaults, so the split is the same, and the data's
 * hash must be the same too. For another file, only the options for reading it are taken over. Settings have
 * keys of the data section. `labels`: refuse rows without labels. */
enum mot_status mot_subject_open(const char *model, const char *source, enum mot_part,
    const struct mot_setting *, size_t settings, bool labels, struct mot_subject *out);
void mot_subject_close(struct mot_subject *);

struct mot_marks {
    uint64_t rows, right;
    double loss, accuracy; /* means; accuracy and rmse are NaN if there is none */
    double rmse;
    uint32_t classes;    /* 0: no figures by class */
    uint64_t *confusion; /* [true][predicted], or NULL with more than MOT_CONFUSION_MOST classes */
};
void mot_score_subject(const struct mot_subject *, struct mot_marks *out);
void mot_marks_free(struct mot_marks *);

/* Calls `row` for each row in order with the net's outputs: probabilities of the classes, or the value. */
void mot_predict_subject(
    const struct mot_subject *, void (*row)(void *self, const float *outputs, uint32_t best), void *self);

/* out[rows][net.features] */
void mot_features_subject(const struct mot_subject *, float *out);

#endif
